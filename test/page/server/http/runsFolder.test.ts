/** The list of a folder of runs: how much one listing reads, and that later ones read the rest. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { hostOf } from '../../../../cli/view/host.ts';
import { RunsFolder } from '../../../../page/server/http/runsFolder.ts';
import { fakeIo } from '../../../cli/support/fakeIo.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { tinyRun } from '../../../support/tinyRun.ts';
import { until } from '../../../support/until.ts';

const runs = temporaryFolder();

beforeAll(async () => {
  await tinyRun(runs.path, 'run-0');
  for (let i = 1; i < 26; i++) {
    cpSync(join(runs.path, 'run-0'), join(runs.path, `run-${i}`), { recursive: true });
  }
});
afterAll(() => runs.remove());

test('a listing of runs opens 24 logs, and the rest once it is answered', async () => {
  let nowMs = 0;
  const clock = { now: () => nowMs };
  const folder = new RunsFolder(hostOf('.', { ...fakeIo(runs.path), clock }));
  const known = async (): Promise<number> => {
    nowMs += 2_000;
    const { runs: rows } = await folder.list();
    expect(rows).toHaveLength(26);
    return rows.filter(({ step }) => step === 5).length;
  };
  expect(await known()).toBe(24);
  await until(async () => (await known()) === 26);
});

test('a listing is answered even where logs take long to open', async () => {
  // A second passes between two looks at the clock.
  let nowMs = 0;
  const clock = { now: () => (nowMs += 1_000) };
  const folder = new RunsFolder(hostOf('.', { ...fakeIo(runs.path), clock }));
  const { runs: rows } = await folder.list();
  expect(rows).toHaveLength(26);
  expect(rows.filter(({ step }) => step === 5)).toHaveLength(0);
  await until(async () => (await folder.list()).runs.every(({ step }) => step === 5));
});
