import { expect, test } from '@jest/globals';
import { Comparisons } from '../../../../page/server/http/comparisons.ts';
import { HotRuns } from '../../../../page/server/http/hotRuns.ts';
import type { RunView } from '../../../../page/server/run/runView.ts';
import type { Divergence } from '../../../../page/wire/index.ts';
import type { Log } from '../../../../streams/log.ts';
import { topics } from '../../../../topics/index.ts';
import { freshLog } from '../../../support/freshLog.ts';
import { metric } from '../../../support/records.ts';
import { until } from '../../../support/until.ts';

const RECORDS = 300;
/** Records that a reader is given at once. */
const STRETCH = 64;
const figures = { settings: [], settingsTotal: 0, paired: null, pairedWhy: '', metrics: [] };

let log: Log;
freshLog((fresh) => {
  log = fresh;
});

/** The log, whose readers wait for `open` after their first stretch. */
function gated(open: Promise<void>): Log {
  const tap: Log['tap'] = (topic, options) => {
    let stretches = 0;
    const room = () =>
      stretches++ === 0 ? null : open.then(() => options.room?.() ?? Promise.resolve());
    return log.tap(topic, { ...options, room });
  };
  return new Proxy(log, {
    get(target, name) {
      if (name === 'tap') return tap;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

test('runs that are compared say how many records have been read, until the answer is there', async () => {
  await log.commit((tx) => {
    for (let step = 0; step < RECORDS; step++) tx.append(topics.metrics, metric({ step }));
  });
  let open = (): void => undefined;
  const view = {
    viewed: {
      log: gated(
        new Promise((resolve) => {
          open = resolve;
        }),
      ),
    },
  };
  const hot = new HotRuns(async () => ({
    view: view as unknown as RunView,
    close: async () => undefined,
  }));
  const comparisons = new Comparisons(hot, { soonMs: 0, figuresOf: async () => figures });
  const found = async (): Promise<Divergence> => (await comparisons.of('one', 'two')).divergence;
  expect((await found()).state).toBe('pending');
  const records = 2 * STRETCH;
  await until(async () => {
    const now = await found();
    return now.state === 'pending' && now.read?.records === records;
  });
  expect(await found()).toEqual({ state: 'pending', read: { records, of: 2 * RECORDS } });
  open();
  await until(async () => (await found()).state === 'same');
  expect(await found()).toEqual({ state: 'same', records: RECORDS });
});

test('the figures of a pair come before its records are compared, and are computed once', async () => {
  await log.commit((tx) => tx.append(topics.metrics, metric()));
  const view = { viewed: { log } } as unknown as RunView;
  const hot = new HotRuns(async () => ({ view, close: async () => undefined }));
  let asked = 0;
  let come = (): void => undefined;
  const figuresOf = async () => {
    asked += 1;
    await new Promise<void>((resolve) => {
      come = resolve;
    });
    return figures;
  };
  const comparisons = new Comparisons(hot, { soonMs: 0, figuresOf });
  const first = comparisons.of('one', 'two');
  const second = comparisons.of('one', 'two');
  await until(() => asked === 1);
  come();
  expect((await first).figures).toBe(figures);
  expect((await second).figures).toBe(figures);
  await until(async () => (await comparisons.of('one', 'two')).divergence.state === 'same');
  expect(asked).toBe(1);
  // A run that has grown is compared again.
  await log.commit((tx) => tx.append(topics.metrics, metric({ step: 1 })));
  const again = comparisons.of('one', 'two');
  await until(() => asked === 2);
  come();
  await again;
});
