/**
 * The process from outside: it cannot answer what was not asked, it does not outlive its parent, and no
 * process is left after `close()`.
 */
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { kernelWrapper } from '../../../../operators/tools/python/launch.ts';
import { Pool } from '../../../../operators/tools/python/pool.ts';
import { Sandbox } from '../../../../operators/tools/python/sandbox.ts';
import { startChild } from '../../../support/child.ts';

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
  return fork(FORGER, [mode], { execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function isGone(pid: number): Promise<boolean> {
  for (let i = 0; i < 200 && isAlive(pid); i++) await new Promise((wait) => setTimeout(wait, 50));
  return !isAlive(pid);
}

describe('a sandbox process', () => {
  it.each(['other-id', 'other-kind', 'not-text', 'nonsense', 'exits'])(
    'that answers with %s is killed and its answer is not taken',
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

  it('that does not say that it is ready fails the start', async () => {
    await expect(Sandbox.start(LIMITS, signal, forger('never-ready'))).rejects.toThrow(
      'did not start',
    );
  });

  it('that grows past its limit is killed, where the system tells sizes', async () => {
    if (!existsSync('/proc/self/statm')) return;
    const sandbox = await Sandbox.start(LIMITS, signal, forger('grows'));
    expect((await sandbox.run('print(1)')).kind).toBe('overgrown');
    expect(await isGone(sandbox.pid!)).toBe(true);
  });

  it('that is not wanted any more while it starts is gone', async () => {
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

describe('a pool', () => {
  it('leaves no process when it is closed, whatever they are doing', async () => {
    const started: number[] = [];
    const pool = new Pool(LIMITS, 2, async (...given) => {
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

  it('says so when no process can be started', async () => {
    const pool = new Pool(LIMITS, 1, () => Promise.reject(new Error('no pyodide here.')));
    await expect(pool.run('1')).rejects.toMatchObject({
      code: 'TOOL_BROKEN',
      message: expect.stringMatching(
        /^the tool python does not work here: no pyodide here\. Start/,
      ),
    });
    await pool.close();
  });

  it('is down, and not broken, when no other process can be started than those that were', async () => {
    let started = 0;
    const pool = new Pool(LIMITS, 1, (settings, closing) =>
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

  it('runs a program again whose process went without an answer, and is down when each of them does', async () => {
    const modes = ['exits', 'exits'];
    const pool = new Pool(LIMITS, 1, (settings, closing) =>
      Sandbox.start(settings, closing, forger(modes.shift() ?? 'twice')),
    );
    expect(await pool.run('1')).toEqual({ kind: 'done', text: 'first' });
    await pool.close();
    await expect(pool.run('1')).rejects.toMatchObject({ code: 'TOOL_DOWN' });
    const gone = new Pool(LIMITS, 1, (settings, closing) =>
      Sandbox.start(settings, closing, forger('exits')),
    );
    await expect(gone.run('1')).rejects.toMatchObject({
      code: 'TOOL_DOWN',
      message: expect.stringMatching(/ended without an answer 3 times/),
    });
    await gone.close();
  });
});
