/**
 * The process from outside: it cannot answer what was not asked, it does not outlive its parent, and no
 * process is left after `close()`.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { readLines } from '../../../../operators/tools/python/channel.ts';
import { kernelWrapper } from '../../../../operators/tools/python/launch.ts';
import { Pool } from '../../../../operators/tools/python/pool.ts';
import { Sandbox } from '../../../../operators/tools/python/sandbox.ts';
import { startChild } from '../../../support/child.ts';
import { until } from '../../../support/until.ts';

const LIMITS = {
  timeoutMs: 2000,
  memoryMaxMiB: 64,
  outputMax: 100,
  printNone: false,
  packages: [],
};
const signal = new AbortController().signal;
const FORGER = fileURLToPath(new URL('./forger.mjs', import.meta.url));
const ORPHAN = fileURLToPath(new URL('./orphan.ts', import.meta.url));

function forger(mode: string) {
  return spawn(process.execPath, [FORGER, mode], { stdio: ['pipe', 'pipe', 'pipe'] });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const isGone = (pid: number): Promise<boolean> => until(() => !isAlive(pid));

describe('a sandbox process', () => {
  const odd = ['other-id', 'other-kind', 'not-text', 'nonsense', 'no-json', 'long', 'floods'];
  it.each([...odd, 'exits'])(
    'that answers with %s is killed, and its answer is ignored',
    async (mode) => {
      const sandbox = await Sandbox.start(LIMITS, signal, forger(mode));
      const verdict = await sandbox.run('print(1)');
      expect(verdict.kind).toBe(mode === 'exits' ? 'lost' : 'stopped');
      expect(verdict.text).not.toContain('forged');
      expect(sandbox.usable).toBe(false);
      expect(await isGone(sandbox.pid!)).toBe(true);
    },
  );

  it('that answers before it was asked is killed', async () => {
    const sandbox = await Sandbox.start(LIMITS, signal, forger('twice'));
    expect(await sandbox.run('print(1)')).toEqual({ kind: 'done', text: 'first' });
    expect(await isGone(sandbox.pid!)).toBe(true);
    expect((await sandbox.run('print(2)')).kind).toBe('lost');
  });

  it.each(['never-ready', 'floods-first'])('that is %s fails the start', async (mode) => {
    const child = forger(mode);
    await expect(Sandbox.start(LIMITS, signal, child)).rejects.toThrow('did not start');
    expect(await isGone(child.pid!)).toBe(true);
  });

  it('that grows past its limit is killed, if the system reports sizes', async () => {
    if (!existsSync('/proc/self/statm')) return;
    const patient = { ...LIMITS, timeoutMs: 600_000 };
    const sandbox = await Sandbox.start(patient, signal, forger('grows'));
    expect((await sandbox.run('print(1)')).kind).toBe('overgrown');
    expect(await isGone(sandbox.pid!)).toBe(true);
  });

  it('that is no longer wanted while it starts is killed', async () => {
    const controller = new AbortController();
    const child = forger('silent');
    const start = Sandbox.start(LIMITS, controller.signal, child);
    controller.abort();
    await expect(start).rejects.toThrow('did not start');
    expect(await isGone(child.pid!)).toBe(true);
  });

  it.each(['idle', 'busy'])('ends with its parent when it is %s', async (state) => {
    const diesWithParent = kernelWrapper().includes('--pdeathsig');
    if (state === 'busy' && !diesWithParent) return;
    const parent = startChild(ORPHAN, state);
    const pid = Number(await parent.line());
    expect(isAlive(pid)).toBe(true);
    await parent.kill();
    expect(await isGone(pid)).toBe(true);
  });
});

describe('the output of a process', () => {
  const heardOf = async (...chunks: readonly string[]) => {
    const stream = new PassThrough();
    const heard: (string | null)[] = [];
    readLines(stream, 10, (line) => heard.push(line));
    for (const chunk of chunks) stream.write(chunk);
    await new Promise((settled) => setImmediate(settled));
    return { heard, ended: stream.destroyed };
  };

  it('is read by lines, however it is chunked', async () => {
    expect(await heardOf('one\ntw', 'o\n', '\n', '0123456789\n')).toEqual({
      heard: ['one', 'two', '', '0123456789'],
      ended: false,
    });
  });

  it.each([
    ['in one piece', ['a\n01234567890\n', 'b\n']],
    ['in pieces', ['012345', '67890', 'b\n']],
  ])('is ignored from an overlong line on, %s', async (_, chunks) => {
    expect(await heardOf(...chunks)).toEqual({ heard: [null], ended: true });
  });
});

/** Starts that wait until they are let go, one by one. */
function gate() {
  const starts: (() => void)[] = [];
  const turn = (closing: AbortSignal) =>
    new Promise<void>((go, refuse) => {
      starts.push(go);
      closing.addEventListener('abort', () => refuse(new Error('closing')));
    });
  return { starts, turn };
}

describe('a pool of sandbox processes', () => {
  it('leaves no process once closed, whatever they are doing', async () => {
    const started: number[] = [];
    const pool = new Pool(LIMITS, { processes: 2, spares: 1 }, async (...given) => {
      const sandbox = await Sandbox.start(...given);
      started.push(sandbox.pid!);
      return sandbox;
    });
    await pool.run('print(1)');
    const programs = ['while True: pass', 'print(2)', 'print(3)', 'print(4)'];
    const settled = Promise.allSettled(programs.map((program) => pool.run(program)));
    await pool.close();
    expect((await settled).some(({ status }) => status === 'rejected')).toBe(true);
    expect(started.length).toBeGreaterThan(0);
    expect(started.filter(isAlive)).toEqual([]);
  });

  it('keeps a spare ready, so that a stuck program costs the next one no start', async () => {
    const { starts, turn } = gate();
    const pool = new Pool(LIMITS, { processes: 1, spares: 1 }, async (settings, closing) => {
      await turn(closing);
      return Sandbox.start(settings, closing, forger(starts.length === 1 ? 'long' : 'worn'));
    });
    const stuck = pool.run('1');
    starts[0]!();
    await until(() => starts.length === 2);
    expect((await stuck).kind).toBe('stopped');
    const next = pool.run('2');
    starts[1]!();
    expect((await next).text).toMatch(/^worn/);
    await pool.close();
  });

  it('goes on with a process that has grown until another is there', async () => {
    const { starts, turn } = gate();
    const pids: number[] = [];
    const pool = new Pool(LIMITS, { processes: 1, spares: 0 }, async (settings, closing) => {
      await turn(closing);
      const sandbox = await Sandbox.start(settings, closing, forger('worn'));
      pids.push(sandbox.pid!);
      return sandbox;
    });
    const ran = async () => Number((await pool.run('1')).text.split(' ')[1]);
    const first = ran();
    starts[0]!();
    expect(await first).toBe(pids[0]);
    expect(await ran()).toBe(pids[0]);
    await until(() => starts.length === 2);
    starts[1]!();
    await until(() => pids.length === 2);
    expect(await isGone(pids[0]!)).toBe(true);
    expect(await ran()).toBe(pids[1]);
    await pool.close();
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('serves with the processes that it has when no other can be started', async () => {
    let tried = 0;
    const pool = new Pool(LIMITS, { processes: 1, spares: 1 }, (settings, closing) =>
      tried++ === 0
        ? Sandbox.start(settings, closing, forger('worn'))
        : Promise.reject(new Error('no memory')),
    );
    expect((await pool.run('1')).kind).toBe('done');
    await until(() => tried > 3);
    const all = await Promise.all(['2', '3', '4'].map((program) => pool.run(program)));
    expect(all.map(({ kind }) => kind)).toEqual(['done', 'done', 'done']);
    expect(tried).toBeLessThan(20);
    await pool.close();
  });

  it('reports that no process can be started', async () => {
    const pool = new Pool(LIMITS, { processes: 1, spares: 0 }, () =>
      Promise.reject(new Error('no pyodide here.')),
    );
    await expect(pool.run('1')).rejects.toMatchObject({
      code: 'TOOL_BROKEN',
      message: expect.stringMatching(
        /^the tool python does not work here: no pyodide here\. Start/,
      ),
    });
    await pool.close();
  });

  it('is down, but not broken, if no further process can be started', async () => {
    let started = 0;
    const pool = new Pool(LIMITS, { processes: 1, spares: 0 }, (settings, closing) =>
      started++ === 0
        ? Sandbox.start(settings, closing, forger('exits'))
        : Promise.reject(new Error('no memory')),
    );
    await expect(pool.run('1')).rejects.toMatchObject({
      code: 'TOOL_DOWN',
      message: 'the tool python cannot answer: no memory',
    });
    await pool.close();
  });

  it('repeats a program whose process vanished, and is down if every process does', async () => {
    const modes = ['exits', 'exits'];
    const pool = new Pool(LIMITS, { processes: 1, spares: 0 }, (settings, closing) =>
      Sandbox.start(settings, closing, forger(modes.shift() ?? 'twice')),
    );
    expect(await pool.run('1')).toEqual({ kind: 'done', text: 'first' });
    await pool.close();
    await expect(pool.run('1')).rejects.toMatchObject({ code: 'TOOL_DOWN' });
    const gone = new Pool(LIMITS, { processes: 1, spares: 0 }, (settings, closing) =>
      Sandbox.start(settings, closing, forger('exits')),
    );
    await expect(gone.run('1')).rejects.toMatchObject({
      code: 'TOOL_DOWN',
      message: expect.stringMatching(/ended without an answer 3 times/),
    });
    await gone.close();
  });
});
