import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../../cli/program.ts';
import { forkFiles } from '../../../cli/rewind/forkFiles.ts';
import { ranges, versionsIn } from '../../../cli/rewind/steps.ts';
import { readRunRecord } from '../../../cli/runRecord.ts';
import { logFolder } from '../../../cli/runs.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { examineRun } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import {
  type RunRecords,
  readRun,
  type TinyOptions,
  tinyCalibration,
} from '../../support/tinyCalibration.ts';
import { tinyRun } from '../../support/tinyRun.ts';
import { fakeIo } from '../support/fakeIo.ts';

const temporary = temporaryFolder();
const runs = temporary.path;
afterAll(() => temporary.remove());

async function rewind(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const io = fakeIo(process.cwd());
  const code = await main(['rewind', ...args, '--runs', runs], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

const digests = ({ weights }: RunRecords): (string | null)[] => weights.map(({ digest }) => digest);
const ids = <T>(records: readonly T[], id: (record: T) => string): string[] =>
  records.map(id).sort();

const all = { keepVersions: 0 } as const;
let original: RunRecords;
let folder: string;
beforeAll(async () => {
  folder = await tinyRun(runs, 'first', { settings: all });
  original = await readRun(folder);
});

/** Goes on with a fork to its end. */
async function ended(name: string, settings: TinyOptions['settings'] = all): Promise<RunRecords> {
  const at = join(runs, name);
  const { end } = await tinyCalibration({ folder: at, settings: settings!, timing: 9 });
  expect(end).toBe('quiescent');
  const log = await openLog({ folder: logFolder(at), mode: 'read' });
  expect((await examineRun(log)).findings).toEqual([]);
  await log.close();
  return readRun(at);
}

describe('millrace rewind', () => {
  test('continues from any step to the exact end of the original', async () => {
    for (const { step } of original.weights) {
      const name = `from-${step}`;
      const { code, err } = await rewind('first', '--to', `step=${step}`, '--into', name);
      expect([code, err]).toEqual([0, expect.stringContaining(`--run ${name}`)]);
      const begun = await readRun(join(runs, name));
      expect(begun.weights).toEqual(original.weights.slice(0, step + 1));
      expect(begun.rollouts.length).toBeLessThan(original.rollouts.length);
      const run = await ended(name);
      expect(digests(run)).toEqual(digests(original));
      expect(ids(run.rollouts, ({ id, text }) => `${id} ${text}`)).toEqual(
        ids(original.rollouts, ({ id, text }) => `${id} ${text}`),
      );
      const lines = readFileSync(join(runs, name, 'metrics.jsonl'), 'utf8')
        .trimEnd()
        .split('\n');
      expect(lines.map((line) => (JSON.parse(line) as { offset: number }).offset)).toEqual(
        run.metrics.map((_, offset) => offset),
      );
    }
  });

  test('leaves the original unchanged, and records in the fork where it comes from', async () => {
    await rewind('first', '--to', 'step=2', '--into', 'note');
    expect(await readRun(folder)).toEqual(original);
    const record = await readRunRecord(join(runs, 'note'));
    expect(record).toMatchObject({ status: 'stopped', forked: { run: 'first', step: 2 }, seed: 7 });
    const left = (await readdir(runs)).filter((entry) => entry.startsWith('.'));
    expect(left).toEqual([]);
  });

  test('continues with other settings', async () => {
    const { code } = await rewind('first', '--to', 'step=2', '--into', 'other', '--set', 'lr=1');
    expect(code).toBe(0);
    expect((await readRunRecord(join(runs, 'other')))?.settings).toMatchObject({ lr: 1 });
    const run = await ended('other', { ...all, lr: 1 });
    expect(digests(run).slice(0, 3)).toEqual(digests(original).slice(0, 3));
    expect(digests(run)[3]).not.toBe(digests(original)[3]);
  });

  test('can go back further in a fork', async () => {
    await rewind('first', '--to', 'step=3', '--into', 'again');
    await ended('again');
    const { code } = await rewind('again', '--to', 'step=1', '--into', 'further');
    expect(code).toBe(0);
    expect(digests(await ended('further'))).toEqual(digests(original));
  });

  test('goes on from the end of a round in a run that keeps few versions', async () => {
    await tinyRun(runs, 'few', { settings: { keepVersions: 2 } });
    const end = original.weights.find(({ roundsDone }) => roundsDone === 1)!.step;
    expect((await rewind('few', '--to', `step=${end}`, '--into', 'few-on')).code).toBe(0);
    expect(digests(await ended('few-on', { keepVersions: 2 }))).toEqual(digests(original));
    const gone = await rewind('few', '--to', 'step=1', '--into', 'few-gone');
    expect(gone.code).toBe(1);
    const last = original.weights.length - 1;
    expect(gone.err).toContain('run few no longer has the weights of step 1');
    expect(gone.err).toContain(`available steps: 0, ${end}-${last}`);
    expect(existsSync(join(runs, 'few-gone'))).toBe(false);
  });

  test('goes on from a run that was killed, and from one at a lag', async () => {
    const settings = { ...all, lagMax: 2, concurrency: 6 };
    await tinyRun(runs, 'lag', { settings });
    await rewind('lag', '--to', 'step=2', '--into', 'lag-on');
    const lagging = await ended('lag-on', settings);
    const first = digests(await readRun(join(runs, 'lag')));
    expect(digests(lagging).slice(0, 3)).toEqual(first.slice(0, 3));
    expect(lagging.weights).toHaveLength(first.length);

    await tinyRun(runs, 'dead', {
      settings: all,
      fate: { commitsLeft: 120, lastIsWritten: true },
    });
    const dead = await readRun(join(runs, 'dead'));
    const step = dead.weights.length - 1;
    expect(step).toBeGreaterThan(0);
    await rewind('dead', '--to', `step=${step}`, '--into', 'dead-on');
    expect(digests(await ended('dead-on'))).toEqual(digests(original));
  });

  test('does not fork a version of which a byte was changed, and names the steps that are left', async () => {
    await tinyRun(runs, 'flipped', { settings: all });
    for (const [step, file] of [
      [1, '000001.safetensors'],
      [2, '000002.optimiser.safetensors'],
    ] as const) {
      const path = join(runs, 'flipped', 'weights', file);
      const bytes = readFileSync(path);
      bytes[3]! ^= 1;
      writeFileSync(path, bytes);
      const refused = await rewind('flipped', '--to', `step=${step}`, '--into', 'flipped-on');
      expect(refused.code).toBe(1);
      expect(refused.err).toMatch(
        new RegExp(
          `DIGEST.*weights/${file} of version ${step}, made by step ${step} of run flipped`,
        ),
      );
      expect(refused.err).toContain(`choose another step (0`);
      expect(existsSync(join(runs, 'flipped-on'))).toBe(false);
    }
    expect((await rewind('flipped', '--to', 'step=3', '--into', 'flipped-on')).code).toBe(0);
  });

  test.each([
    ['changed', (path: string) => writeFileSync(path, 'other bytes'), /^weights.* has digest/],
    ['deleted', rmSync, /run first no longer has the weights of step 2; available steps: 0-1, 3-/],
  ])('does not fork a version that is %s meanwhile', async (what, spoil, message) => {
    const copy = join(runs, `spoilt-${what}`);
    cpSync(folder, copy, { recursive: true });
    const log = await openLog({ folder: logFolder(copy), mode: 'read' });
    const versions = await versionsIn(copy, original.weights);
    spoil(join(copy, 'weights', '000002.safetensors'));
    const fork = (step: number): Promise<void> =>
      forkFiles({
        run: { name: 'first', folder: copy },
        to: `${copy}-${step}`,
        ...{ version: versions[step]!, versions, log, metrics: 0 },
      });
    await expect(fork(2)).rejects.toThrow(message);
    // what the run forgets of other versions meanwhile is its own matter
    rmSync(join(copy, 'weights', '000001.safetensors'));
    await expect(fork(3)).resolves.toBeUndefined();
    await log.close();
  });

  test('says what is wrong with the command', async () => {
    expect((await rewind('first', '--to', '3', '--into', 'x')).err).toContain('--to takes step=N');
    const far = await rewind('first', '--to', 'step=99', '--into', 'x');
    expect(far.err).toContain('run first has not made step 99; available steps: 0-');
    const taken = await rewind('first', '--to', 'step=1', '--into', 'first');
    expect([taken.code, taken.err]).toEqual([
      2,
      expect.stringContaining('run first already exists in'),
    ]);
    await rm(join(runs, 'x'), { recursive: true, force: true });
  });
});

test('ranges of step numbers are written as people write them', () => {
  expect(ranges([])).toBe('');
  expect(ranges([4, 0, 3, 7, 5])).toBe('0, 3-5, 7');
});
