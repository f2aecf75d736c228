/**
 * Tools of MCP servers: the reference server (everything) over both transports, and a server of ours that
 * means harm.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { splitActions } from '../../../../operators/dialect/actions.ts';
import {
  type McpPlace,
  type McpServer,
  mcpServer,
} from '../../../../operators/tools/mcp/server.ts';
import { specsOf } from '../../../../operators/tools/mcp/specs.ts';
import { mcpTool } from '../../../../operators/tools/mcp/tool.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { until } from '../../../support/until.ts';

const everything = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
);
const never = new AbortController().signal;
const ALL = { prefix: '', tools: null };
const LIMITS = { charactersMax: 200, concurrencyMax: 4 };

const open: McpServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});
function started(place: McpPlace, timeoutMs = 60_000): McpServer {
  const server = mcpServer({ name: 'mine', place, timeoutMs });
  open.push(server);
  return server;
}

const process_ = (args: readonly string[], env = {}): McpPlace => ({
  ...{ kind: 'process', command: process.execPath, args, env },
});

let web: ChildProcess;
let url = '';
beforeAll(async () => {
  const port = await freePort();
  web = spawn(process.execPath, [everything, 'streamableHttp'], {
    ...{ stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, PORT: String(port) } },
  });
  await new Promise<void>((resolve, reject) => {
    web.stderr!.on('data', (data: Buffer) => /listening/i.test(data.toString()) && resolve());
    web.once('exit', () => reject(new Error('the reference server ended')));
  });
  url = `http://127.0.0.1:${port}/mcp`;
});
afterAll(() => void web?.kill());

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe.each([
  ['stdio', (): McpPlace => process_([everything, 'stdio'])],
  ['streamable HTTP', (): McpPlace => ({ kind: 'http', url, token: null })],
])('the reference server over %s', (_, place) => {
  test('has its tools called with one text or with JSON', async () => {
    const server = started(place());
    const specs = specsOf('mine', await server.tools(), {
      prefix: 'x-',
      tools: ['echo', 'get-sum'],
    });
    expect(specs.map(({ name, tool }) => [name, tool])).toEqual([
      ['x-echo', 'echo'],
      ['x-get-sum', 'get-sum'],
    ]);
    const [echo, sum] = specs.map((spec) => mcpTool(server, spec, LIMITS));
    expect(await echo!.run('hello', never)).toEqual({ output: 'Echo: hello', ok: true });
    expect(await sum!.run('{"a": 2, "b": 40}', never)).toMatchObject({
      output: expect.stringContaining('42'),
      ok: true,
    });
    expect(await sum!.run('2 and 40', never)).toEqual({
      output: 'Error: x-get-sum takes one JSON object with: a, b.',
      ok: false,
    });
    expect(await sum!.run('{"a": "two"}', never)).toMatchObject({ ok: false });
    const long = await echo!.run('y'.repeat(1000), never);
    expect(long.output).toHaveLength(203);
    expect(long.output.endsWith('y...')).toBe(true);
  });

  test('has content that is not text named', async () => {
    const server = started(place());
    const [image] = specsOf('mine', await server.tools(), {
      prefix: '',
      tools: ['get-tiny-image'],
    });
    const { output, ok } = await mcpTool(server, image!, LIMITS).run('{}', never);
    expect([ok, output.includes('[image: image/png]')]).toEqual([true, true]);
  });
});

const hostile = fileURLToPath(new URL('./children/hostileServer.ts', import.meta.url));
const harm = (...args: string[]): McpPlace => process_(['--import', 'tsx', hostile, ...args]);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a hostile MCP server', () => {
  test('opens no tag and no message by its descriptions', async () => {
    const server = started(harm());
    const [spec] = specsOf('mine', await server.tools(), { ...ALL, tools: ['teach'] });
    const text = JSON.stringify(spec);
    expect(text).not.toMatch(/<\/?(?:think|answer|result|teach)>|<\|im_/);
    expect(text).not.toContain('\u202e');
    expect(spec!.about).not.toContain('\n');
    expect(spec!.about.length).toBeLessThanOrEqual(700);
    expect(splitActions(spec!.about, ['teach'])).toEqual([]);
  });

  test.each([
    ['bad name', 'a tool bad name whose name cannot be a tag'],
    ['deep', 'whose schema is nested too deeply'],
    ['long', 'whose schema is longer than 20000 characters'],
    ['strange', 'with an invalid argument name'],
    ['absent', 'has no tool absent; it has: teach'],
  ])('is refused by name for %s', async (tool, message) => {
    const server = started(harm());
    const offered = await server.tools();
    expect(() => specsOf('mine', offered, { prefix: '', tools: [tool] })).toThrow(message);
  });

  test('has a call that never ends given up, and one that ended the process repeated on a new one', async () => {
    const server = started(harm(), 500);
    const offered = await server.tools();
    const tools = specsOf('mine', offered, { prefix: '', tools: ['sleep', 'die', 'teach'] });
    const [teach, sleep, die] = ['teach', 'sleep', 'die'].map((name) =>
      mcpTool(server, tools.find((spec) => spec.name === name)!, LIMITS),
    );
    expect(await sleep!.run('', never)).toEqual({
      output: 'Error: no answer within 500 ms',
      ok: false,
    });
    expect(await teach!.run('x', never)).toMatchObject({ ok: true });
    await expect(die!.run('', never)).rejects.toMatchObject({ code: 'TOOL_DOWN' });
    expect(await teach!.run('x', never)).toMatchObject({ ok: true });
    const off = new AbortController();
    const call = sleep!.run('', off.signal);
    off.abort(new Error('no longer wanted'));
    await expect(call).rejects.toThrow('no longer wanted');
  });

  test('is restarted once for calls that it cut off together, and leaves no process', async () => {
    const folder = temporaryFolder();
    try {
      const pids = join(folder.path, 'pids');
      const server = started(harm(pids));
      const offered = await server.tools();
      const [teach, die] = ['teach', 'die'].map((name) =>
        mcpTool(server, specsOf('mine', offered, { prefix: '', tools: [name] })[0]!, LIMITS),
      );
      const calls = [die!.run('', never), ...[1, 2, 3, 4].map(() => teach!.run('x', never))];
      await Promise.allSettled(calls);
      expect(await teach!.run('x', never)).toMatchObject({ ok: true });
      await server.close();
      const all = (await readFile(pids, 'utf8')).trim().split('\n').map(Number);
      await until(() => !all.some(isAlive));
    } finally {
      folder.remove();
    }
  });

  test('is reported with its reason if it ends before its first answer', async () => {
    const server = started(process_(['-e', 'console.error("no key given"); process.exit(3)']));
    await expect(server.tools()).rejects.toMatchObject({
      code: 'MCP',
      message: expect.stringMatching(/the MCP server mine .* cannot be started.*no key given/),
    });
    const missing = started({ kind: 'process', command: 'no-such-command', args: [], env: {} });
    await expect(missing.tools()).rejects.toThrow(/no-such-command.*ENOENT/);
  });
});
