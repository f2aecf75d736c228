/** The mill as of a step: it claims nothing that nobody kept. */
import { expect, test } from '@jest/globals';
import type { Moment } from '../../../views/page/moment.ts';
import { millAt } from '../../../views/page/overview.ts';
import type { OverviewTwin } from '../../../views/page/wire.ts';
import { fixedRun } from '../../page/browser/fixedRun.ts';

test('has the records that there were then, and nothing of what stages did since', () => {
  const { mill } = fixedRun.twins['/r/fixed.json'] as OverviewTwin;
  const at = { step: 2, version: 2, atMs: 5, ref: '2' };
  const moment: Moment = { at, endOf: () => undefined, recordsOf: () => 7 };
  const then = millAt(mill, moment);
  expect(then.health.text).toBe('As of step 2. What each stage had done by then is not kept.');
  expect(then.stages.map(({ name }) => name)).toEqual(mill.stages.map(({ name }) => name));
  for (const { shares, in: into, out, inflight, lag } of then.stages) {
    expect([shares, into, out, inflight, lag]).toEqual([null, 0, 0, 0, 0]);
  }
  for (const { records, bytes, perSecond } of then.topics) {
    expect([records, bytes, perSecond]).toEqual([7, null, null]);
  }
});
