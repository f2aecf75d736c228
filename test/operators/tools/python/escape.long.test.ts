/**
 * The escape suite: every probe fails in the sandbox, and a chosen set of the same probes succeeds in a
 * plain pyodide, so that the suite is known to bite.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pythonTool } from '../../../../operators/tools/python/pythonTool.ts';
import { runUnprotected } from './control.ts';
import { ENDLESS, PROBES } from './probes.ts';

const tool = pythonTool({ timeoutMs: 3000, memoryMaxMiB: 128, spares: 0 });
const impatient = pythonTool({ timeoutMs: 300, memoryMaxMiB: 64, spares: 0 });
const signal = new AbortController().signal;

let folder = '';
let server: Server;
let connections = 0;
let bytes = 0;

beforeAll(async () => {
  process.env.PROBE_SECRET = 'classified';
  folder = await mkdtemp(join(tmpdir(), 'escape-'));
  await writeFile(join(folder, 'host.txt'), 'classified');
  server = createServer((socket) => {
    connections++;
    socket.on('data', (data) => {
      bytes += data.length;
    });
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  await Promise.all([tool.close(), impatient.close()]);
  server.close();
  await rm(folder, { recursive: true });
  delete process.env.PROBE_SECRET;
});

/** A probe's program with the places of this host. */
function aimed(program: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return program
    .replaceAll('HOST_FILE', join(folder, 'host.txt'))
    .replaceAll('HOST_FOLDER', folder)
    .replaceAll('PORT', String(port));
}

describe('the Python sandbox', () => {
  it.each(PROBES.map(({ name, program }) => [name, program] as const))(
    'contains a program that %s',
    async (_name, program) => {
      const { output } = await tool.run(aimed(program), signal);
      expect(output).not.toContain('ESCAPED');
      expect(output).not.toContain('classified');
      expect(connections).toBe(0);
      expect(await readFile(join(folder, 'host.txt'), 'utf8')).toBe('classified');
      expect(await readdir(folder)).toEqual(['host.txt']);
      expect(await tool.run('print(6 * 7)', signal)).toEqual({ output: '42', ok: true });
    },
  );

  it.each(ENDLESS.map((program) => [program]))('ends %j at the time limit', async (program) => {
    const { output, ok } = await impatient.run(program, signal);
    expect(ok).toBe(false);
    expect(output).toBe('TimeoutError: the program ran longer than 300 ms');
    expect(await impatient.run('print(6 * 7)', signal)).toEqual({ output: '42', ok: true });
  });

  it('is what contains them: without it the control probes escape', async () => {
    const chosen = PROBES.filter(({ control }) => control);
    const printed = await runUnprotected(chosen.map(({ program }) => aimed(program)));
    const held = chosen.filter((_, i) => !printed[i]?.includes('ESCAPED'));
    expect(held.map(({ name }, i) => `${name}: ${printed[chosen.indexOf(held[i]!)]}`)).toEqual([]);
    expect(chosen.length).toBeGreaterThanOrEqual(12);
    expect(connections).toBeGreaterThan(0);
    expect(bytes).toBeGreaterThan(0);
  });
});
