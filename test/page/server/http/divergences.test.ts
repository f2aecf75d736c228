import { expect, test } from '@jest/globals';
import { Divergences } from '../../../../page/server/http/divergences.ts';
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
  const divergences = new Divergences(hot, 0);
  const found = (): Promise<Divergence> => divergences.of('one', 'two');
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
