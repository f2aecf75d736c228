/**
 * Programs on a server with SandboxFusion's interface: the contract of the Python tool over a server of that
 * shape, which runs the Python of this machine; and servers that answer wrongly, or not at all.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock } from '../../../../base/clock.ts';
import { sleepClock } from '../../../../base/sleepClock.ts';
import { pythonTool } from '../../../../operators/tools/python/pythonTool.ts';
import { pythonContract } from './contract.ts';

const signal = new AbortController().signal;
const hasPython = spawnSync('python3', ['-c', '']).status === 0;

type Answer = (body: RunCode, reply: ServerResponse, request: IncomingMessage) => void;
interface RunCode {
  readonly code: string;
  readonly language: string;
  readonly run_timeout: number;
  readonly compile_timeout: number;
  readonly memory_limit_MB?: number;
}

let server: Server;
let url = '';
let answer: Answer = () => undefined;
let asked = 0;
const running = new Set<ReturnType<typeof spawn>>();

beforeAll(async () => {
  server = createServer(async (request, reply) => {
    asked++;
    const body = JSON.parse(await text(request)) as RunCode;
    if (request.url === '/run_code') answer(body, reply, request);
    else reply.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  server.closeAllConnections();
  server.close();
});

const CAPTURED_MAX = 2 ** 20;

/**
 * As its source has it: a process a program, a mebibyte of each stream, `Failed` for an exit status and for
 * time that is up.
 */
const real: Answer = ({ code, run_timeout: seconds }, reply) => {
  const child = spawn('python3', ['-'], { stdio: ['pipe', 'pipe', 'pipe'] });
  running.add(child);
  const streams = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (part: string) => {
      streams[name] = (streams[name] + part).slice(0, CAPTURED_MAX);
    });
  }
  let late = false;
  const alarm = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, seconds * 1000);
  child.on('close', (status) => {
    clearTimeout(alarm);
    running.delete(child);
    const run = late
      ? { status: 'TimeLimitExceeded', execution_time: seconds, return_code: null }
      : { status: 'Finished', execution_time: 0.1, return_code: status };
    const ended = !late && status === 0 ? 'Success' : 'Failed';
    said(reply, { status: ended, run_result: { ...run, ...streams } });
  });
  child.stdin.end(code);
};

function said(reply: ServerResponse, given: object): void {
  const whole = { message: '', compile_result: null, executor_pod_name: null, files: {}, ...given };
  reply.setHeader('content-type', 'application/json');
  reply.end(JSON.stringify(whole));
}

function remote(options: Parameters<typeof pythonTool>[0] = {}, key = '') {
  const clock = sleepClock(systemClock);
  const where = { url, key, clock, triesMax: 2, retryDelayMs: 0 };
  return pythonTool({ timeoutMs: 60_000, ...options, server: where });
}

afterEach(() => {
  answer = real;
  asked = 0;
});

if (!hasPython)
  it.skip('Python programs on a server (skipped: there is no python3)', () => undefined);
else {
  answer = real;
  pythonContract('on a server', {
    tool: () => remote(),
    short: () => remote({ outputMax: 10, printNone: true }),
    another: () => remote({ timeoutMs: 10_000 }),
  });

  describe('a program on a server', () => {
    it.each([
      ['import os; os._exit(3)', 'SystemError: the interpreter stopped (exit status 3)'],
      ['import os; os.kill(os.getpid(), 9)', /^SystemError: the interpreter stopped \(exit/],
      ['import sys; sys.stdout = None\n1 / 0', 'ZeroDivisionError: division by zero'],
      ['import sys; sys.stdout.close()\n1 / 0', 'ZeroDivisionError: division by zero'],
      ['x = "\0"', /null bytes/],
      ['"\ud800"', /^UnicodeEncodeError/],
    ])('that ends abnormally is reported: %j', async (program, output) => {
      expect(await remote().run(program, signal)).toEqual({
        output: typeof output === 'string' ? output : expect.stringMatching(output),
        ok: false,
      });
    });

    it('that runs too long is ended', async () => {
      const { output, ok } = await remote({ timeoutMs: 500 }).run('while True: pass', signal);
      expect(output).toBe('TimeoutError: the program ran longer than 500 ms');
      expect(ok).toBe(false);
    });
  });
}

describe('a server that runs Python', () => {
  const finished = (stdout: string) => ({
    status: 'Success',
    run_result: { status: 'Finished', return_code: 0, stdout, stderr: '' },
  });

  it('is called like SandboxFusion, with the key', async () => {
    const bodies: RunCode[] = [];
    answer = (body, reply, { headers }) => {
      bodies.push(body);
      said(reply, finished(String(headers.authorization)));
    };
    const tool = remote({ timeoutMs: 1500, memoryMaxMiB: 512 }, 'word');
    expect(await tool.run('1', signal)).toEqual({ output: 'Bearer word', ok: true });
    expect(bodies[0]).toMatchObject({
      ...{ language: 'python', run_timeout: 1.5, compile_timeout: 1.5, memory_limit_MB: 512 },
    });
    expect(bodies[0]!.code).toMatch(/^[\x20-\x7e\n]*$/);
    await remote().run('1', signal);
    expect(bodies[1]).not.toHaveProperty('memory_limit_MB');
    expect([tool.pure, tool.concurrencyMax]).toEqual([false, 1]);
  });

  it.each<[string, Answer, number]>([
    ['no JSON', (_, reply) => reply.end('<html>'), 2],
    ['other JSON', (_, reply) => said(reply, { status: 'won' }), 2],
    ['no result', (_, reply) => said(reply, { status: 'Success', run_result: null }), 2],
    ['a text that is none', (_, reply) => said(reply, finished(1 as never)), 2],
    [
      'could not run it: no room',
      (_, reply) => said(reply, { status: 'SandboxError', message: 'no room' }),
      2,
    ],
    [
      'could not run it: broken',
      (_, reply) =>
        said(reply, { status: 'Failed', run_result: { status: 'Error', stderr: 'broken' } }),
      2,
    ],
    ['answers HTTP 503: full', (_, reply) => reply.writeHead(503).end('{"detail": "full"}'), 2],
    ['answers HTTP 403: no', (_, reply) => reply.writeHead(403).end('no'), 1],
    [
      'answers HTTP 307: give the address',
      (_, reply) => reply.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
      1,
    ],
    ['does not answer', (_, reply) => reply.destroy(), 2],
  ])('that gives %s counts as down', async (what, how, times) => {
    answer = how;
    const why = /answers|not/.test(what) ? what : 'does not answer as SandboxFusion does';
    await expect(remote().run('1', signal)).rejects.toMatchObject({
      code: 'TOOL_DOWN',
      message: expect.stringContaining(`the server ${url} ${why}`),
    });
    expect(asked).toBe(times);
  });

  it('that does not exist counts as down', async () => {
    const clock = sleepClock(systemClock);
    const where = { url: 'http://127.0.0.1:1', key: '', clock, triesMax: 2, retryDelayMs: 0 };
    const tool = pythonTool({ server: where });
    await expect(tool.run('1', signal)).rejects.toMatchObject({ code: 'TOOL_DOWN' });
  });

  it('is called again if that may help', async () => {
    answer = (_, reply) => (asked === 1 ? reply.destroy() : said(reply, finished('there')));
    expect(await remote().run('1', signal)).toEqual({ output: 'there', ok: true });
  });

  it('whose reply is too long has given no result', async () => {
    answer = (_, reply) => said(reply, finished('a'.repeat(9 * 2 ** 20)));
    expect(await remote().run('1', signal)).toEqual({
      output: 'SystemError: the interpreter stopped (its output is too long)',
      ok: false,
    });
    expect(asked).toBe(1);
  });

  it('takes no packages', () => {
    const one = { name: 'a', path: '/a', native: false, imports: [] };
    expect(() => remote({ packages: [one] })).toThrow('its own packages');
  });
});
