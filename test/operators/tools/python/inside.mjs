// Tries the host's doors from JavaScript in the sandbox's process, as code would that had come through the
// gate. Answers with the names of those that opened. `control FOLDER` tries them without the layers, and
// writes there.

import childProcess from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns';
import fs from 'node:fs';
import http from 'node:http';
import inspector from 'node:inspector';
import module from 'node:module';
import net from 'node:net';
import os from 'node:os';
import vm from 'node:vm';
import { Worker } from 'node:worker_threads';

const write = fs.writeSync;
const [, , mode, folder = os.tmpdir()] = process.argv;
const protect = mode !== 'control';
if (protect) {
  const host = await import('../../../../operators/tools/python/child/host.mjs');
  host.closeNetwork();
  host.lendFileConstants();
  host.closeHost();
}

const DOORS = {
  'reads a file': () => fs.readFileSync('/etc/passwd'),
  'lists a folder': () => fs.readdirSync('/'),
  'writes a file': () => fs.writeFileSync(`${folder}/millrace-probe`, 'x'),
  'starts a process': () => childProcess.spawnSync('/bin/true').status === 0 || fail(),
  'starts a worker': () => new Worker('0', { eval: true }),
  'makes a function of a string': () => Reflect.construct(Function, ['return 1'])(),
  'evaluates a string': () => globalThis['ev'.concat('al')]('1 + 1'),
  'imports a string': () => import('data:text/javascript,export default 1'),
  'imports a string by a function of the process': () =>
    module.createRequire('/')('node:vm').runInNewContext('1'),
  'resolves modules its own way': () => {
    if (typeof module.registerHooks !== 'function') module.register('data:text/javascript,');
    else module.registerHooks({});
  },
  'takes a binding': () => process.binding('fs').open,
  'takes a module from the process': () =>
    process.getBuiltinModule('fs').readFileSync('/etc/passwd'),
  'loads native code': () => process.dlopen({ exports: {} }, '/nowhere.node') ?? fail(),
  'compiles WebAssembly': () =>
    new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])),
  'signals a process': () => process.kill(process.ppid, 0),
  'opens a socket': () => new net.Socket().connect(9, '127.0.0.1').on('error', () => {}),
  'opens a connection': () => net.connect(9, '127.0.0.1').on('error', () => {}),
  listens: () => net.createServer().listen(0),
  'makes a request': () => http.get('http://127.0.0.1:9/').on('error', () => {}),
  'sends a datagram': () => dgram.createSocket('udp4').send('x', 9, '127.0.0.1'),
  'asks for a name': () => dns.lookup('localhost', () => {}),
  'listens by another way': () => new net.Server()._listen2('127.0.0.1', 0, 4),
  'asks a name server': () => new dns.Resolver().resolve4('localhost', () => {}),
  'asks a name server, and waits': () =>
    void new dns.promises.Resolver().resolve4('localhost').catch(() => {}),
  'chooses a name server': () => new dns.Resolver().setServers(['127.0.0.1']),
  'runs a script in another context': () => vm.runInNewContext('1 + 1'),
  'makes a script': () => new vm.Script('1 + 1'),
  'compiles WebAssembly in another context': () =>
    new (vm.runInNewContext('WebAssembly').Module)(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])),
  'writes to an open descriptor': () => fs.writeSync(2, ''),
  'asks the inspector': () => new inspector.Session().connect(),
  fetches: () => fetch('http://127.0.0.1:9/').catch(() => {}),
  'sees the environment': () => Object.keys(process.env).length > 0 || fail(),
  'sees a network interface': () =>
    Object.values(os.networkInterfaces()).some((list) => list.length > 0) || fail(),
};

function fail() {
  throw new Error('closed');
}

const opened = [];
for (const [name, open] of Object.entries(DOORS)) {
  try {
    await open();
    opened.push(name);
  } catch {}
}
write(1, `${JSON.stringify({ opened, all: Object.keys(DOORS) })}\n`);
process.exit(0);
