/** The list of a folder of runs: how much one listing reads, and that later ones read the rest. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { hostOf } from '../../../../cli/view/host.ts';
import { RunsFolder } from '../../../../page/server/http/runsFolder.ts';
import { fakeIo } from '../../../cli/support/fakeIo.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { tinyRun } from '../../../support/tinyRun.ts';

const runs = temporaryFolder();

beforeAll(async () => {
  await tinyRun(runs.path, 'run-0');
  for (let i = 1; i < 26; i++) {
    cpSync(join(runs.path, 'run-0'), join(runs.path, `run-${i}`), { recursive: true });
  }
});
afterAll(() => runs.remove());

test('a listing of runs opens 24 logs, and the next listing those that it left', async () => {
  // Two seconds pass between two looks at the clock.
  let nowMs = 0;
  const clock = { now: () => (nowMs += 2_000) };
  const folder = new RunsFolder(hostOf('.', { ...fakeIo(runs.path), clock }));
  const known = async (): Promise<number> => {
    const { runs: rows } = await folder.list();
    expect(rows).toHaveLength(26);
    return rows.filter(({ step }) => step === 5).length;
  };
  expect(await known()).toBe(24);
  expect(await known()).toBe(26);
  expect(await known()).toBe(26);
});
