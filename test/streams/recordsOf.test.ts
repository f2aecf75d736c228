import { expect, test } from '@jest/globals';
import { map } from 'rxjs';
import type { Log } from '../../streams/log.ts';
import { recordsOf } from '../../streams/recordsOf.ts';
import { topics } from '../../topics/index.ts';
import { freshLog } from '../support/freshLog.ts';
import { question } from '../support/records.ts';
import { until } from '../support/until.ts';

let log: Log;
freshLog((opened) => {
  log = opened;
});

const fill = (count: number, first = 0): Promise<void> =>
  log.commit((tx) => {
    for (let i = first; i < first + count; i++)
      tx.append(topics.questions, question({ id: `q${i}` }));
  });

async function ids(records: AsyncIterable<{ value: { id: string } }>, most = Infinity) {
  const got: string[] = [];
  for await (const { value } of records) {
    got.push(value.id);
    if (got.length >= most) break;
  }
  return got;
}

test('recordsOf gives every record once, over many pages, and ends', async () => {
  await fill(200);
  const records = recordsOf(log, topics.questions, { from: { kind: 'earliest' } });
  expect(await ids(records)).toEqual(Array.from({ length: 200 }, (_, i) => `q${i}`));
  expect(await ids(recordsOf(log, topics.questions, { from: { kind: 'latest' } }))).toEqual([]);
});

test('recordsOf reads no further than it is asked', async () => {
  await fill(500);
  let read = 0;
  const counted: Pick<Log, 'tap'> = {
    tap: (topic, options) =>
      log.tap(topic, options).pipe(
        map((stored) => {
          read += 1;
          return stored;
        }),
      ),
  };
  const from = { kind: 'earliest' } as const;
  await ids(recordsOf({ ...log, ...counted } as Log, topics.questions, { from }), 3);
  expect(read).toBeLessThan(100);
});

test('recordsOf waits at the end for more, until it is aborted', async () => {
  await fill(2);
  const abort = new AbortController();
  const from = { kind: 'earliest' } as const;
  const got: string[] = [];
  const reading = (async () => {
    const records = recordsOf(log, topics.questions, { from, followUntil: abort.signal });
    for await (const { value } of records) got.push(value.id);
  })();
  for (let i = 2; i < 5; i++) {
    await until(() => got.length === i);
    await fill(1, i);
  }
  await until(() => got.length === 5);
  abort.abort();
  await reading;
  expect(got).toEqual(['q0', 'q1', 'q2', 'q3', 'q4']);
});
