/** One stream for all tabs: the union of what they want, events to each, and a way back when it breaks. */
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  type Heard,
  type Hub,
  hubOf,
  type Outside,
  unionUrl,
  type Want,
} from '../../../page/browser/logic/hub.ts';

type On = Parameters<Outside['open']>[1];

class Opened {
  readonly url: string;
  readonly on: On;
  closed = false;

  constructor(url: string, on: On) {
    this.url = url;
    this.on = on;
  }

  close(): void {
    this.closed = true;
  }
}

let opened: Opened[];
let timers: { ms: number; run: () => void }[];
let hub: Hub;

const want = (run: string | null, metrics: readonly string[] = [], since = ''): Want => ({
  run,
  metrics,
  runs: run === null,
  since,
});
const nobody = (): void => {};

beforeEach(() => {
  opened = [];
  timers = [];
  hub = hubOf({
    open(url, on) {
      const source = new Opened(url, on);
      opened.push(source);
      return source;
    },
    later(ms, run) {
      const timer = { ms, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((one) => one !== timer);
      };
    },
  });
});

describe('the shared stream', () => {
  test('is one for tabs that want the same, and closes with the last of them', () => {
    const [a, b] = [{}, {}];
    hub.want(a, want('mine'), nobody);
    hub.want(b, want('mine'), nobody);
    expect(opened).toHaveLength(1);
    hub.want(a, null, nobody);
    expect(opened[0]!.closed).toBe(false);
    hub.want(b, null, nobody);
    expect(opened[0]!.closed).toBe(true);
  });

  test('is reopened for more metrics, from where it was', () => {
    hub.want({}, want('mine', ['loss'], 'c0'), nobody);
    opened[0]!.on.event('points', '{}', 'c7');
    hub.want({}, want('mine', ['kl']), nobody);
    expect(opened.map(({ url }) => url)).toEqual([
      '/stream?run=mine:loss&since=c0',
      '/stream?run=mine:kl,loss&since=c7',
    ]);
    expect(opened[0]!.closed).toBe(true);
  });

  test('passes every event to every tab, and tells a late tab that it is open', () => {
    const heard: Heard[] = [];
    hub.want({}, want('mine'), (one) => heard.push(one));
    opened[0]!.on.open();
    opened[0]!.on.event('mill', '{"run":"mine"}', '');
    const late: Heard[] = [];
    hub.want({}, want('mine'), (one) => late.push(one));
    expect(heard.map(({ kind }) => kind)).toEqual(['open', 'event']);
    expect(late).toEqual([{ kind: 'open' }]);
  });

  test('is reconnected by the browser if it breaks, and retried ever more slowly if refused', () => {
    const heard: Heard[] = [];
    hub.want({}, want('mine'), (one) => heard.push(one));
    opened[0]!.on.error();
    expect(timers).toEqual([]);
    const waits = [1, 2, 3, 4, 5, 6].map(() => {
      const last = opened.at(-1)!;
      last.closed = true;
      last.on.error();
      const { ms, run } = timers.pop()!;
      run();
      return ms;
    });
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    expect(Math.max(...waits)).toBe(10_000);
    expect(opened.length).toBe(7);
    expect(heard.at(-1)).toEqual({ kind: 'lost', retries: 7 });
  });

  test('ignores an earlier connection', () => {
    const heard: Heard[] = [];
    const tab = {};
    hub.want(tab, want('a'), (one) => heard.push(one));
    hub.want(tab, want('b'), (one) => heard.push(one));
    opened[0]!.on.event('mill', '{}', 'x');
    opened[0]!.on.error();
    expect(heard).toEqual([]);
    expect(opened[1]!.url).toBe('/stream?run=b');
  });
});

test('the address of the shared stream is the union of runs, metrics and the list of runs', () => {
  expect(unionUrl([])).toBe('');
  expect(unionUrl([want(null)])).toBe('/stream?runs=1');
  expect(unionUrl([want('a', ['reward/mean']), want('b c'), want('a', ['loss'])])).toBe(
    '/stream?run=a:loss,reward%2Fmean&run=b%20c',
  );
  const many = Array.from({ length: 9 }, (_, i) => want(`r${i}`));
  expect(unionUrl(many)).toBe('/stream?run=r5&run=r6&run=r7&run=r8');
});
