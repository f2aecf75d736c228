// The host's own doors, closed one by one. Runs inside the sandbox process.
//
// None of this is what Python meets first: the gate (gate.mjs) stands before it. These layers hold if
// JavaScript in this process is ever reached: no connection, no code from strings (a V8 flag), no native
// code, no way back to a built-in module. The permission model (a Node flag) holds files, processes and
// workers.

import dgram from 'node:dgram';
import dns from 'node:dns';
import fs, { constants } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import inspector from 'node:inspector';
import module, { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import tls from 'node:tls';
import vm from 'node:vm';

/** @param {string} what */
function closed(what) {
  return () => {
    throw new Error(`the sandbox has no ${what}`);
  };
}

/** @param {object} target @param {readonly string[]} names @param {string} what */
function close(target, names, what) {
  for (const name of names) {
    if (!(name in target)) continue;
    Object.defineProperty(target, name, { value: closed(what), writable: false });
  }
}

const GLOBAL_DOORS = ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'BroadcastChannel'];

/** Before pyodide loads: nothing in this process can open, accept or send a connection. */
export function closeNetwork() {
  close(net.Socket.prototype, ['connect'], 'network');
  close(net.Server.prototype, ['listen', '_listen2'], 'network');
  close(net, ['connect', 'createConnection', 'createServer'], 'network');
  close(dgram.Socket.prototype, ['bind', 'connect', 'send'], 'network');
  close(dgram, ['createSocket'], 'network');
  for (const module of [http, https]) close(module, ['request', 'get', 'createServer'], 'network');
  close(http2, ['connect', 'createServer', 'createSecureServer'], 'network');
  close(tls, ['connect', 'createServer'], 'network');
  const isLookup = (/** @type {string} */ name) =>
    /^(lookup|resolve|reverse|setServers)/.test(name);
  for (const { Resolver } of [dns, dns.promises]) {
    for (let at = Resolver.prototype; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      close(at, Object.getOwnPropertyNames(at).filter(isLookup), 'network');
    }
  }
  for (const module of [dns, dns.promises]) {
    const lookups = Object.keys(module).filter(isLookup);
    close(module, lookups, 'network');
  }
  syncBuiltinESMExports();
  for (const name of GLOBAL_DOORS) Reflect.deleteProperty(globalThis, name);
}

/** pyodide asks for the constants of `fs` this way; the permission model would refuse the real thing. */
export function lendFileConstants() {
  Reflect.set(process, 'binding', (/** @type {string} */ name) => {
    if (name === 'constants') return { fs: constants };
    throw new Error(`the sandbox has no binding ${name}`);
  });
}

const PROCESS_DOORS = [
  'binding',
  '_linkedBinding',
  'dlopen',
  'getBuiltinModule',
  'kill',
  'chdir',
  '_kill',
  '_debugProcess',
  '_startProfilerIdleNotifier',
];
/** Descriptors that are open already need no permission: that of the channel to the parent is one. */
const FILE_WRITES = [
  ...['write', 'writeSync', 'writev', 'writevSync', 'writeFile', 'writeFileSync'],
  ...['appendFile', 'appendFileSync', 'createWriteStream'],
];
const COMPILERS = ['Module', 'Instance', 'compile', 'instantiate', 'compileStreaming'];

/** After pyodide has loaded: no module, no native code and no new WebAssembly from here on. */
export function closeHost() {
  close(process, PROCESS_DOORS, 'way to the host');
  close(WebAssembly, [...COMPILERS, 'instantiateStreaming'], 'compiler');
  close(vm, Object.keys(vm), 'other context');
  close(inspector, ['open', 'console'], 'inspector');
  close(inspector.Session.prototype, ['connect', 'connectToMainThread'], 'inspector');
  close(fs, FILE_WRITES, 'file to write to');
  // Node 20 has no such hook; there a policy lets modules be files and Node's own alone (launch.ts).
  module.registerHooks?.({ resolve: closed('module') });
  close(module, ['register', 'registerHooks', 'createRequire'], 'module');
  syncBuiltinESMExports();
  for (const name of ['require', 'Worker', 'SharedWorker'])
    Reflect.deleteProperty(globalThis, name);
}
