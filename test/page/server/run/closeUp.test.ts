/** A curve of more steps than it has buckets: a part of it is read again as fine as the log has it. */
import { expect, test } from '@jest/globals';
import { systemClock } from '../../../../base/clock.ts';
import { now } from '../../../../page/server/run/moment.ts';
import { Places, type Span } from '../../../../page/server/run/places.ts';
import { RunView } from '../../../../page/server/run/runView.ts';
import { metricsData, whole } from '../../../../page/server/views/metrics.ts';
import { openKafkaLog } from '../../../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../../../streams/log.ts';
import { allTopics, topics } from '../../../../topics/index.ts';
import { record } from '../../../cli/support/syntheticRun.ts';
import { deleteTopics } from '../../../support/deleteTopics.ts';
import { freshFolders } from '../../../support/folder.ts';
import { freshLog } from '../../../support/freshLog.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../../support/kafka.ts';
import { metric } from '../../../support/records.ts';
import { until } from '../../../support/until.ts';

const STEPS = 10_000;

let log: Log;
const fresh = freshFolders();
freshLog((fresh) => {
  log = fresh;
});

function viewOf(read: Log): RunView {
  return new RunView({
    ...{ name: 'live', log: read, place: 'folder', clock: systemClock, typed: (text) => text },
    ...{ resume: 'millrace run job.ts', facts: async () => record, tokenizer: async () => null },
    ...{ verified: async () => null, checkpoint: async () => ({ kind: 'intact', why: '' }) },
  });
}

async function everyStepOf(log: Log): Promise<void> {
  for (let from = 0; from < STEPS; from += 1000) {
    await log.commit((tx) => {
      for (let step = from; step < from + 1000; step++) {
        for (const name of ['loss', 'other'])
          tx.append(topics.metrics, metric({ name, step, value: step }));
      }
    });
  }
  const view = viewOf(log);
  await view.ready();
  const asked = { names: ['loss'], beside: [], missing: [] };
  const overview = async () => (await metricsData(view, now, { ...asked, range: whole })).series[0];
  const all = await until(async () => {
    const line = await overview();
    return line?.total === STEPS && line;
  });
  expect(all.width).toBeGreaterThan(1);
  const range = { ...whole, from: 5000, to: 5100 };
  const [part] = (await metricsData(view, now, { ...asked, range })).series;
  expect(part!.width).toBe(1);
  expect(part!.step).toEqual(Array.from({ length: 101 }, (_, i) => 5000 + i));
  expect(part!.mean).toEqual(part!.step);
  expect(part!.total).toBe(STEPS);
  view.stop();
}

test('a zoomed part of a curve shows every step, however long the run', () => everyStepOf(log));

describeKafka('a zoomed part of a curve over Kafka', () => {
  test('shows every step of all partitions', async () => {
    const run = freshRun();
    const url = `${kafkaUrl}?partitions=2`;
    const logFolder = fresh();
    const log = await openKafkaLog({
      topics: allTopics,
      url,
      run,
      mode: 'write',
      logFolder,
      clock: systemClock,
    });
    try {
      await everyStepOf(log);
    } finally {
      await log.close();
      await deleteTopics(run);
    }
  });
});

test('the index of steps has a bounded size, and never misses a step', () => {
  const places = new Places();
  for (let i = 0; i < 100_000; i++) places.seen({ partition: 1, offset: i }, Math.floor(i / 10));
  for (const [from, to] of [
    [0, 10],
    [4_000, 4_001],
    [9_990, 20_000],
  ] as const) {
    const [found] = places.around(from, to);
    expect(found!.partition).toBe(1);
    expect(found!.from).toBeLessThanOrEqual(10 * from);
    expect(found!.to).toBeGreaterThanOrEqual(Math.min(100_000, 10 * (to + 1)));
  }
  const [{ from, to }] = places.around(4_000, 4_001) as [Span];
  expect(to - from).toBeLessThan(1_000);
});
