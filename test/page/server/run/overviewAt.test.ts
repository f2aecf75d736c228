/** The mill as of a step: it claims nothing that was not kept. */
import { expect, test } from '@jest/globals';
import type { Moment } from '../../../../page/server/run/moment.ts';
import { millAt } from '../../../../page/server/views/overview.ts';
import type { OverviewData } from '../../../../page/wire/index.ts';
import { fixedRun } from '../../browser/fixedRun.ts';

test('the overview as of a step has the records of that moment, and nothing of what stages did since', () => {
  const { mill } = fixedRun.json['/r/fixed.json'] as OverviewData;
  const at = { step: 2, version: 2, atMs: 5, ref: '2' };
  const moment: Moment = { at, endOf: () => undefined, recordsOf: () => 7 };
  const then = millAt(mill, moment);
  expect(then.health.text).toBe('As of step 2. What each stage had done by then is not kept.');
  expect(then.stages.map(({ name }) => name)).toEqual(mill.stages.map(({ name }) => name));
  for (const { shares, in: into, out, inflight, lag } of then.stages) {
    expect([shares, into, out, inflight, lag]).toEqual([null, 0, 0, 0, 0]);
  }
  // The wiring stays; what was read by then is not kept.
  expect(then.sources).toEqual(
    mill.sources.map((source) => ({ ...source, items: null, done: false })),
  );
  for (const { records, bytes, perSecond } of then.topics) {
    expect([records, bytes, perSecond]).toEqual([7, null, null]);
  }
});
