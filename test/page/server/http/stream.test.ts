/**
 * The stream and a reader that does not take what it is given: state is kept for it and no queue, and nothing
 * waits for it.
 */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../../../base/clock.ts';
import { hostOf } from '../../../../cli/view/host.ts';
import { HotRuns } from '../../../../page/server/http/hotRuns.ts';
import { RunsFolder } from '../../../../page/server/http/runsFolder.ts';
import { EventStream, streamAsked } from '../../../../page/server/http/stream.ts';
import { RunView } from '../../../../page/server/run/runView.ts';
import type { Log } from '../../../../streams/log.ts';
import { topics } from '../../../../topics/index.ts';
import { fakeIo } from '../../../cli/support/fakeIo.ts';
import { metric } from '../../../cli/support/records.ts';
import { record } from '../../../cli/support/syntheticRun.ts';
import { freshLog } from '../../../support/freshLog.ts';

let log: Log;
freshLog((fresh) => {
  log = fresh;
});

/** A response whose reader takes nothing while `stuck`. */
class Reader extends EventEmitter {
  stuck = false;
  text = '';
  destroyed = false;
  readonly socket = null;
  get writableNeedDrain(): boolean {
    if (this.stuck) this.emit('passedOver');
    return this.stuck;
  }
  /** Resolves after so many ticks in which it was left out. */
  async passedOver(ticks: number): Promise<void> {
    for (let i = 0; i < ticks; i++)
      await new Promise((resolve) => this.once('passedOver', resolve));
  }
  writeHead(): void {}
  write(text: string): void {
    this.text += text;
    this.emit('written');
  }
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
  /** Resolves once this was written. */
  async until(said: RegExp): Promise<void> {
    while (!said.test(this.text)) await new Promise((resolve) => this.once('written', resolve));
  }
}

async function opened(query: string, tickMs: number) {
  const io = { ...fakeIo('/'), clock: systemClock };
  const hot = new HotRuns(async (name) => {
    const view = new RunView({
      name,
      log,
      place: 'folder',
      clock: systemClock,
      typed: (text) => text,
      resume: '',
      facts: async () => record,
      tokenizer: async () => null,
      checkpoint: async () => ({ kind: 'intact', why: '' }),
      verified: async () => null,
    });
    return { view, close: async () => view.stop() };
  });
  const reader = new Reader();
  const means = {
    hot,
    folder: new RunsFolder(hostOf('/nowhere', io)),
    clock: systemClock,
    server: 's',
    tickMs,
  };
  const stream = new EventStream(
    streamAsked(new URLSearchParams(query), undefined),
    reader as unknown as ServerResponse,
    means,
  );
  await stream.start();
  return { reader, stream, hot };
}

async function write(from: number, to: number): Promise<void> {
  await log.commit((tx) => {
    for (let step = from; step < to; step++)
      tx.append(topics.metrics, metric('loss', step, 1, step));
  });
}

/** Resolves once the page's server has read this many values. */
async function read(hot: HotRuns, values: number): Promise<void> {
  const { view, release } = await hot.take('a');
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (view.cursor.text === `0-${values}`) resolve();
    };
    view.samples$.subscribe(look);
    look();
  });
  release();
}

test('what a slow reader missed is in the next tick, with the number of records left out', async () => {
  const { reader, stream, hot } = await opened('run=a:loss', 10);
  reader.stuck = true;
  const before = reader.text;
  await write(0, 3);
  await reader.passedOver(2);
  await write(3, 6);
  await read(hot, 6);
  await reader.passedOver(2);
  expect(reader.text).toBe(before);
  reader.stuck = false;
  await reader.until(/"series":\{"loss":\[\[0,.*\[5,0,0,5\]\]\},"merged":[1-9]/);
  stream.close();
  await hot.close();
});

test('a slow reader that missed more than is kept has to read again', async () => {
  // Sixty of these ticks are longer than reading takes on a busy machine.
  const { reader, stream, hot } = await opened('run=a:loss', 300);
  reader.stuck = true;
  await write(0, 6_000);
  await read(hot, 6_000);
  reader.stuck = false;
  await reader.until(/event: reset\nid: a@0-6000\n/);
  expect(reader.text).not.toContain('event: points');
  await write(6_000, 6_001);
  await reader.until(/event: points\nid: a@0-6001\n/);
  stream.close();
  await hot.close();
});

test('a reader that takes nothing for sixty ticks is dropped, and its run is released', async () => {
  const { reader, hot } = await opened('run=a:loss', 1);
  reader.stuck = true;
  await new Promise((resolve) => reader.once('close', resolve));
  expect(reader.destroyed).toBe(true);
  const { view, release } = await hot.take('a');
  expect(view.samples$.observed).toBe(false);
  release();
  await hot.close();
});

test('a stream with nothing to say sends a comment', async () => {
  const { reader, stream, hot } = await opened('run=a', 1);
  await reader.until(/^: still here$/m);
  stream.close();
  await hot.close();
});

test.each([
  ['run=a&run=b&run=c&run=d&run=e', 'a stream takes at most 4 runs'],
  [`run=a:${Array.from({ length: 33 }, (_, i) => i).join(',')}`, 'at most 32 metrics per run'],
])('a stream of %s is refused', (query, why) => {
  expect(() => streamAsked(new URLSearchParams(query), undefined)).toThrow(why);
});
