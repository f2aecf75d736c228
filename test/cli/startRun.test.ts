/**
 * A run that was stopped or killed before its first record goes on as the command that stopped it says: by
 * its name alone.
 */
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { placeSetting } from '../../base/placeSetting.ts';
import { logFolder } from '../../cli/runs.ts';
import type { Setting } from '../../cli/settings.ts';
import { startRun } from '../../cli/startRun.ts';
import { defineJob } from '../../jobs/defineJob.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { flow } from '../../streams/flow.ts';
import { topics } from '../../topics/index.ts';
import { freshFolders } from '../support/folder.ts';
import { question } from './support/records.ts';

const fresh = freshFolders();
const settings = z.object({
  policy: z.string(),
  lr: z.number().default(1),
  trainer: z
    .object({ url: placeSetting(z.string().default('')), rank: z.number().default(8) })
    .prefault({}),
});
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

test('a run without a record takes over its settings, seed and preset when started by name', async () => {
  const { request, run } = await stoppedAtOnce();
  const { record, resumed } = await startRun(request, run);
  expect(resumed).toBe(false);
  expect(record).toEqual({
    ...run.record,
    status: 'running',
    starts: [{ startedMs: 2, endedMs: null }],
  });
});

test('a run without a record takes only the settings that it is given, if any are', async () => {
  const { request, run } = await stoppedAtOnce();
  const { record } = await startRun({ ...request, given: [set('policy', 'other')] }, run);
  expect(record.settings).toMatchObject({ policy: 'other', lr: 1 });
});

test('a run that is started over keeps the settings that are not given', async () => {
  const { request, run } = await stoppedAtOnce();
  const given = [set('lr', 5)];
  const { record } = await startRun({ ...request, given, startOver: true }, run);
  expect(record.settings).toMatchObject({ policy: 'mine', lr: 5 });
});

test('a run without a record passes nothing on to another job', async () => {
  const { request, run } = await stoppedAtOnce();
  const started = startRun({ ...request, job: jobNamed('other') }, run);
  await expect(started).rejects.toMatchObject({ code: 'USAGE' });
});

describe('a run with records', () => {
  async function begun() {
    const { request, run } = await stoppedAtOnce();
    const log = await openLog({ folder: logFolder(run.folder), mode: 'write' });
    await log.commit((tx) => tx.append(topics.questions, question('q')));
    await log.close();
    return { request, run };
  }

  test('goes on with a server at another address', async () => {
    const { request, run } = await begun();
    const given = [set('trainer.url', 'http://new:1')];
    const { record, resumed } = await startRun({ ...request, given }, run);
    expect(resumed).toBe(true);
    expect(record.settings).toMatchObject({
      policy: 'mine',
      trainer: { url: 'http://new:1', rank: 8 },
    });
    expect(record.changed).toEqual({
      ...run.record.changed,
      'trainer.url': { from: '--set', default: '' },
    });
  });

  test('is bound to the rest of the group, and the setting is named', async () => {
    const { request, run } = await begun();
    const given = [set('trainer.url', 'http://new:1'), set('trainer.rank', 4)];
    await expect(startRun({ ...request, given }, run)).rejects.toThrow(
      /different settings; it was started with\n {2}trainer\.rank: 8, not 4\ndrop/,
    );
  });
});
