/** A run that was stopped or killed before its first record goes on as the command that stopped it says: by its name alone. */
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import type { Setting } from '../../cli/settings.ts';
import { startRun } from '../../cli/startRun.ts';
import { defineJob } from '../../jobs/defineJob.ts';
import { flow } from '../../streams/flow.ts';
import { freshFolders } from '../support/folder.ts';

const fresh = freshFolders();
const settings = z.object({ policy: z.string(), lr: z.number().default(1) });
const jobNamed = (name: string) =>
  defineJob({ name, about: 'Needs a policy.', settings, build: () => flow() });

const set = (key: string, value: unknown): Setting => ({
  ...{ key, path: key.split('.'), value },
  ...{ text: String(value), from: '--set' },
});

async function stoppedAtOnce() {
  const request = { job: jobNamed('needy'), file: 'needy.ts', seed: 7, nowMs: 1 };
  const given = [set('policy', 'mine'), set('lr', 3)];
  const { record } = await startRun({ ...request, given, preset: 'small' }, null);
  const run = { name: 'early', folder: fresh(), record: { ...record, status: 'stopped' as const } };
  return { request: { ...request, given: [], seed: undefined, nowMs: 2 }, run };
}

test('a run without a record that is started by its name has its settings, seed and preset', async () => {
  const { request, run } = await stoppedAtOnce();
  const { record, resumed } = await startRun(request, run);
  expect(resumed).toBe(false);
  expect(record).toEqual({
    ...run.record,
    status: 'running',
    starts: [{ startedMs: 2, endedMs: null }],
  });
});

test('one that is given settings has these alone', async () => {
  const { request, run } = await stoppedAtOnce();
  const { record } = await startRun({ ...request, given: [set('policy', 'other')] }, run);
  expect(record.settings).toEqual({ policy: 'other', lr: 1 });
});

test('one that is started over keeps what is not given', async () => {
  const { request, run } = await stoppedAtOnce();
  const given = [set('lr', 5)];
  const { record } = await startRun({ ...request, given, startOver: true }, run);
  expect(record.settings).toEqual({ policy: 'mine', lr: 5 });
});

test('another job has nothing of it', async () => {
  const { request, run } = await stoppedAtOnce();
  const started = startRun({ ...request, job: jobNamed('other') }, run);
  await expect(started).rejects.toMatchObject({ code: 'USAGE' });
});
