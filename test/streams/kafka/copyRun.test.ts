/** A run on Kafka, copied into a folder: what is in the copy, and that the run can be made again from it. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { verify } from '../../../jobs/replay/verify.ts';
import { examine } from '../../../streams/doctor/examine.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { copyRun } from '../../../streams/kafka/copyRun.ts';
import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import { manualClock } from '../../support/clock.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import {
  readRun,
  type TinyOptions,
  tinyCalibration,
  tinyJob,
  tinySettings,
} from '../../support/tinyCalibration.ts';

const temporary = temporaryFolder();
afterAll(() => temporary.remove());

/** A tiny run on the broker, killed once where `commitsLeft` says, and a copy of it. */
async function copied(url: string, settings: TinyOptions['settings'], commitsLeft: number | null) {
  const run = freshRun();
  const folder = join(temporary.path, run);
  mkdirSync(join(folder, 'log'), { recursive: true });
  const open = () => openKafkaLog({ url, run, mode: 'write', clock: manualClock() });
  const options = { folder, open, settings: settings! };
  if (commitsLeft !== null) {
    const fate = { commitsLeft, lastIsWritten: true };
    expect((await tinyCalibration({ ...options, fate })).end).toBe('killed');
  }
  expect((await tinyCalibration({ ...options, timing: 4 })).end).toBe('quiescent');
  const { ahead } = await copyRun({ url, run, folder: join(folder, 'log') });
  return { run, folder, ahead };
}

describeKafka('a copy of a run on Kafka', () => {
  test.each([
    ['of one partition, killed once', 1, {}, 40],
    ['of several', 3, { concurrency: 40 }, null],
    ['of several, at a lag', 3, { lagMax: 4, concurrency: 40 }, null],
  ])(
    '%s: is sound, and comes out again as it is',
    async (_name, partitions, settings, kill) => {
      const url = `${kafkaUrl}?partitions=${partitions}`;
      const { run, folder, ahead } = await copied(url, settings, kill);
      const recorded = await openLog({ folder: join(folder, 'log'), mode: 'read' });
      expect((await examine(recorded)).findings).toEqual([]);
      const there = await openKafkaLog({ url, run, mode: 'read' });
      const counts = (stats: Awaited<ReturnType<typeof there.stats>>) =>
        stats.map(({ topic, records, lag }) => ({ topic, records, lag }));
      expect(counts(await recorded.stats())).toEqual(counts(await there.stats()));
      await there.close();

      const scratch = temporaryFolder();
      mkdirSync(join(scratch.path, 'log'));
      const log = await openLog({ folder: join(scratch.path, 'log'), mode: 'write' });
      const found = await verify({
        ...{ job: tinyJob({ timing: 1000 }), run: 'tiny', seed: 7, recorded, scratch: log, ahead },
        ...{ settings: { ...tinySettings, ...settings }, folder: scratch.path },
        ...{ clock: manualClock(5), signal: new AbortController().signal, print: () => undefined },
      });
      await log.close();
      await recorded.close();
      expect(found.difference).toBeNull();
      const then = await readRun(folder);
      const now = await readRun(scratch.path);
      expect(now.weights).toEqual(then.weights);
      expect(now.scored).toEqual(then.scored);
      expect(now.rollouts.length).toBe(then.rollouts.length);
      scratch.remove();
    },
    300_000,
  );
});
