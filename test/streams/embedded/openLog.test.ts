import {
  cpSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { defineTopic } from '../../../streams/contracts/defineTopic.ts';
import { record, text, whole, withDefault } from '../../../streams/contracts/shapes.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Log } from '../../../streams/log.ts';
import type { Topic } from '../../../streams/topic.ts';
import { type Question, topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { metric, question } from '../../support/records.ts';
import { until } from '../../support/until.ts';

let folder = temporaryFolder();
let log: Log;
const open = (mode: 'read' | 'write' = 'write'): Promise<Log> =>
  openLog({ folder: folder.path, mode, pollMs: 5 });
beforeEach(async () => {
  folder = temporaryFolder();
  log = await open();
});
afterEach(async () => {
  await log.close();
  folder.remove();
});

const all = async <T>(of: Log, topic: Topic<T>): Promise<readonly T[]> => {
  const records$ = of.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(records$.pipe(toArray()))).map(({ value }) => value);
};

describe('a topic whose contract grows', () => {
  interface Old {
    readonly id: string;
  }
  interface New extends Old {
    readonly count: number;
  }
  const about = 'The test writes it and reads it.';
  const key = (value: Old): string => value.id;
  const older = defineTopic<Old>({ name: 't', about, key, shape: record('T', { id: text }) });
  const newer = defineTopic<New>({
    name: 't',
    about,
    key,
    version: 2,
    shape: record('T', { id: text, count: withDefault(whole, 1) }),
  });
  const clashing = defineTopic<New>({
    name: 't',
    about,
    key,
    version: 3,
    shape: record('T', { id: text, count: whole }),
  });

  test('holds records of both, which the newer one reads', async () => {
    const reader = await open('read');
    await log.commit((tx) => tx.append(older, { id: 'a' }));
    expect(await all(reader, older)).toEqual([{ id: 'a' }]);
    await log.close();
    log = await open();
    await log.commit((tx) => tx.append(newer, { id: 'b', count: 2 }));
    const both = [
      { id: 'a', count: 1 },
      { id: 'b', count: 2 },
    ];
    expect(await all(log, newer)).toEqual(both);
    expect(await all(reader, newer)).toEqual(both);
    await reader.close();
  });

  test('refuses a contract that could not read what is there, before it writes', async () => {
    await log.commit((tx) => tx.append(older, { id: 'a' }));
    const broken = log.commit((tx) => {
      tx.append(topics.metrics, metric());
      tx.append(clashing, { id: 'b', count: 2 });
    });
    await expect(broken).rejects.toMatchObject({ code: 'SCHEMA' });
    await expect(all(log, clashing)).rejects.toThrow(/^t: this version cannot read.*count/);
    expect(await all(log, topics.metrics)).toEqual([]);
    await log.commit((tx) => tx.append(older, { id: 'c' }));
    expect(await all(log, older)).toEqual([{ id: 'a' }, { id: 'c' }]);
  });
});

describe('a group', () => {
  test('is read by one reader at a time', async () => {
    const options = { group: 'g', inflightMax: 1 };
    const first = log.read(topics.questions, options).subscribe();
    const second = lastValueFrom(log.read(topics.questions, options));
    await expect(second).rejects.toMatchObject({ code: 'GROUP_BUSY' });
    first.unsubscribe();
  });

  test('is read no further than its subscriber listens', async () => {
    await log.commit((tx) => {
      for (let i = 0; i < 10; i++) tx.append(topics.questions, question());
    });
    let read = 0;
    const counted: Topic<Question> = {
      ...topics.questions,
      key: (value) => {
        read += 1;
        return value.id;
      },
    };
    await firstValueFrom(log.read(counted, { group: 'g', inflightMax: 10 }));
    expect(read).toBe(1);
  });

  test('shows its lag before it has settled anything', async () => {
    await log.commit((tx) => tx.append(topics.questions, question()));
    const reading = log.read(topics.questions, { group: 'g', inflightMax: 1 }).subscribe();
    await log.commit((tx) => tx.append(topics.questions, question()));
    const [stat] = await log.stats();
    expect(stat?.lag).toEqual({ g: 2 });
    reading.unsubscribe();
  });

  test('does not give a new reader what the previous one has sent to be settled', async () => {
    await log.commit((tx) => {
      for (const id of ['a', 'b']) tx.append(topics.questions, question({ id }));
    });
    const options = { group: 'g', inflightMax: 9 };
    const seen: string[] = [];
    let settling = Promise.resolve();
    log
      .read(topics.questions, options)
      .subscribe((delivery) => {
        if (delivery.value.id === 'a') settling = log.commit((tx) => tx.settle(delivery));
      })
      .unsubscribe();
    const again = log.read(topics.questions, options).subscribe(({ value }) => seen.push(value.id));
    await settling;
    await until(() => seen.length > 0);
    expect(seen).toEqual(['b']);
    again.unsubscribe();
  });
});

describe('closing', () => {
  test('completes taps and readers, and waits for pending commits', async () => {
    const tapping = lastValueFrom(
      log.tap(topics.questions, { from: { kind: 'earliest' }, follow: true }).pipe(toArray()),
    );
    const options = { group: 'g', inflightMax: 9 };
    const reading = lastValueFrom(log.read(topics.questions, options).pipe(toArray()));
    const commit = log.commit((tx) => tx.append(topics.questions, question()));
    const closing = log.close();
    await Promise.all([tapping, reading, commit, closing]);
    log = await open();
    expect(await all(log, topics.questions)).toHaveLength(1);
  });

  test('may be done twice, and nothing works after it', async () => {
    await log.close();
    await log.close();
    await expect(log.mark('m')).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(log.commit((tx) => tx.mark('m', 1))).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

test('times never decrease along a topic, even if the clock does', async () => {
  await log.close();
  let now = 2000;
  const clock = { now: () => now };
  const reopen = () => openLog({ folder: folder.path, mode: 'write', clock });
  log = await reopen();
  await log.commit((tx) => tx.append(topics.metrics, metric()));
  now = 1000;
  await log.close();
  log = await reopen();
  await log.commit((tx) => tx.append(topics.metrics, metric()));
  const times$ = log.tap(topics.metrics, { from: { kind: 'earliest' }, follow: false });
  const times = (await lastValueFrom(times$.pipe(toArray()))).map(({ atMs }) => atMs);
  expect(times).toEqual([2000, 2000]);
});

test('waiting commits share a transaction, and each settles its own promise', async () => {
  await log.close();
  log = await openLog({ folder: folder.path, mode: 'write', commitMs: 20 });
  const good = Array.from({ length: 5 }, (_, i) =>
    log.commit((tx) => tx.append(topics.metrics, metric({ value: i }))),
  );
  const bad = log.commit((tx) => tx.append(topics.metrics, metric({ value: '?' as never })));
  await expect(bad).rejects.toMatchObject({ code: 'ENCODE' });
  await Promise.all(good);
  expect((await all(log, topics.metrics)).map(({ value }) => value)).toEqual([0, 1, 2, 3, 4]);
});

describe('a log with a damaged file', () => {
  const sizes = [0, 100, 4096, 8192, 20_000];

  test.each(sizes)('is refused if truncated to %d bytes, without a crash', async (size) => {
    await log.commit((tx) => {
      for (let i = 0; i < 500; i++) tx.append(topics.metrics, metric());
    });
    await log.close();
    truncateSync(join(folder.path, 'log.mdb'), size);
    const refused = {
      code: 'DAMAGED',
      message: expect.stringMatching(/log\.mdb is (cut|empty).*doctor/),
    };
    await expect(open('read')).rejects.toMatchObject(refused);
    // An empty file to write is what a process leaves that was killed while it made it.
    if (size > 0) await expect(open('write')).rejects.toMatchObject(refused);
  });

  test('does not mistake a changed bit for the end of a topic', async () => {
    await log.commit((tx) => {
      for (let i = 0; i < 5; i++) tx.append(topics.metrics, metric());
    });
    await log.close();
    const path = join(folder.path, 'log.mdb');
    const bytes = readFileSync(path);
    for (let at = bytes.indexOf('{"end":5'); at >= 0; at = bytes.indexOf('{"end":5', at + 1)) {
      bytes[at + 7]! ^= 1;
    }
    writeFileSync(path, bytes);
    log = await open('read');
    await expect(log.stats()).rejects.toMatchObject({
      code: 'DAMAGED',
      message: expect.stringMatching(
        /the log's entry head metrics was changed after it was written/,
      ),
    });
  });

  test.each([
    ['deleted', (path: string) => rmSync(path), /log\.mdb was removed or replaced .*doctor/],
    [
      'replaced by a copy',
      (path: string) => {
        cpSync(path, `${path}.copy`);
        renameSync(`${path}.copy`, path);
      },
      /log\.mdb was removed or replaced/,
    ],
    [
      'cut',
      (path: string) => truncateSync(path, statSync(path).size - 4096),
      /log\.mdb was cut short while it was open/,
    ],
  ])('is no longer written or read once it is %s meanwhile', async (_what, spoil, why) => {
    const metrics = (count: number): Promise<void> =>
      log.commit((tx) => {
        for (let i = 0; i < count; i++) tx.append(topics.metrics, metric());
      });
    await metrics(200);
    const reader = await open('read');
    expect(await all(reader, topics.metrics)).toHaveLength(200);
    spoil(join(folder.path, 'log.mdb'));
    const refused = { code: 'DAMAGED', message: expect.stringMatching(why) };
    await expect(metrics(1)).rejects.toMatchObject(refused);
    await expect(all(reader, topics.metrics)).rejects.toMatchObject(refused);
    await reader.close();
  });
});
