/**
 * Looking back at a run of the quickstart, in small, as a user does: the built command line in processes of
 * its own. The run is killed once and goes on; then it is checked, recomputed, rewound, made over with
 * another reward, and compared.
 */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { builtMillrace, type Command, type Ended, ROOT, sets } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';

const JOB = 'examples/quickstart/job.ts';
const SMALL = {
  'flywheel.questions': 0,
  rounds: 2,
  explore: 4,
  keep: 2,
  heldOut: 3,
  batchGroups: 1,
  rollouts: 4,
  initialRollouts: 2,
  evaluationRollouts: 1,
  responseMax: 160,
  lagMax: 1,
};
const runs = temporaryFolder();

const start = (...args: readonly string[]): Command =>
  builtMillrace(ROOT, ...args, '--runs', runs.path);
const millrace = (...args: readonly string[]): Promise<Ended> => start(...args).ended;

describe('a finished run', () => {
  beforeAll(async () => {
    const args = ['run', JOB, '--run', 'first', '--seed', '5', ...sets(SMALL)];
    const killed = await start(...args).signalAt(/step 1 /, 'SIGKILL').ended;
    if (killed.code !== null) throw new Error(`was not killed: ${killed.err}`);
    const found = await millrace('doctor', 'first');
    expect([found.code, found.out]).toEqual([1, expect.stringContaining('it was killed')]);
    const { code, err } = await millrace(...args);
    if (code !== 0) throw new Error(err);
  });
  afterAll(() => runs.remove());

  test('is sound', async () => {
    const { code, out } = await millrace('doctor', 'first');
    expect([code, out]).toEqual([0, expect.stringContaining('run first is sound')]);
  });

  test('is replayed as it was recorded, bit for bit', async () => {
    const { code, out, err } = await millrace('replay', 'first', '--verify');
    expect([code, err]).toEqual([0, expect.stringContaining('no tool is called')]);
    expect(out).toContain('the replay of run first is equal to its record, bit for bit');
    expect(readdirSync(runs.path)).toEqual(['first']);
  });

  test('stops verifying at Ctrl-C, and leaves nothing behind', async () => {
    const verifying = start('replay', 'first', '--verify');
    const { code, out } = await verifying.signalAt(/no tool is called/, 'SIGINT').ended;
    expect([code, out]).toEqual([
      0,
      expect.stringContaining('stopped; everything compared so far'),
    ]);
    expect(readdirSync(runs.path)).toEqual(['first']);
  });

  test('is continued from one of its steps', async () => {
    const { code, err } = await millrace('rewind', 'first', '--to', 'step=2', '--into', 'second');
    if (code !== 0) throw new Error(err);
    expect((await millrace('run', JOB, '--run', 'second')).code).toBe(0);
    expect((await millrace('doctor', 'second')).out).toContain('run second is sound');
    const { out } = await millrace('diff', 'first', 'second', '--json');
    const { weights } = (JSON.parse(out) as { same: Record<string, { equal: number }> }).same;
    expect(weights!.equal).toBeGreaterThanOrEqual(3);
  });

  test('is replayed to other weights under another reward', async () => {
    const again = ['--from', 'scored', '--set', 'reward=accuracy', '--into', 'third'];
    const { code, out, err } = await millrace('replay', 'first', ...again);
    if (code !== 0) throw new Error(err);
    expect(out).toMatch(
      /steps; the first \d+ have the same weights as first, then the runs diverge/,
    );
    const differs = await millrace('diff', 'first', 'third');
    expect([differs.code, differs.out]).toEqual([1, expect.stringContaining('they first differ')]);
  });
});
