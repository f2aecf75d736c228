/** A curve of more steps than it has buckets: a part of it is read again as fine as the log has it. */
import { expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import type { Log } from '../../../streams/log.ts';
import { topics } from '../../../streams/topics.ts';
import { metricsTwin, whole } from '../../../views/page/metrics.ts';
import { now } from '../../../views/page/moment.ts';
import { Places } from '../../../views/page/places.ts';
import { RunView } from '../../../views/page/runView.ts';
import { record } from '../../cli/support/syntheticRun.ts';
import { freshLog } from '../../support/freshLog.ts';
import { metric } from '../../support/records.ts';

const STEPS = 10_000;

let log: Log;
freshLog((fresh) => {
  log = fresh;
});

function viewOf(read: Log): RunView {
  return new RunView({
    ...{ name: 'live', log: read, place: 'folder', clock: systemClock, program: 'millrace' },
    ...{ resume: 'millrace run job.ts', facts: async () => record, tokenizer: async () => null },
    ...{ verified: async () => null, checkpoint: async () => ({ kind: 'intact', why: '' }) },
  });
}

test('every step of a part that is zoomed in on, however long the run', async () => {
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
  const all = await metricsTwin(view, now, { ...asked, range: whole });
  expect(all.series[0]!.width).toBeGreaterThan(1);
  const range = { ...whole, from: 5000, to: 5100 };
  const [part] = (await metricsTwin(view, now, { ...asked, range })).series;
  expect(part!.width).toBe(1);
  expect(part!.step).toEqual(Array.from({ length: 101 }, (_, i) => 5000 + i));
  expect(part!.mean).toEqual(part!.step);
  expect(part!.total).toBe(STEPS);
  view.stop();
});

test('where steps lie is known in bounded room, never too narrowly', () => {
  const places = new Places();
  for (let i = 0; i < 100_000; i++) places.seen(i, Math.floor(i / 10));
  for (const [from, to] of [
    [0, 10],
    [4_000, 4_001],
    [9_990, 20_000],
  ] as const) {
    const found = places.around(from, to);
    expect(found.from).toBeLessThanOrEqual(10 * from);
    expect(found.to ?? 100_000).toBeGreaterThanOrEqual(Math.min(100_000, 10 * (to + 1)));
  }
  const { from, to } = places.around(4_000, 4_001);
  expect(to! - from).toBeLessThan(1_000);
});
