/** Records that leave the log's file for the archive, and are read back from there. */
import { createHash } from 'node:crypto';
import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { lastValueFrom, map, toArray } from 'rxjs';
import { readSegment, SegmentReader } from '../../../streams/archive/segments.ts';
import { forkLog } from '../../../streams/embedded/forkLog.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { Store } from '../../../streams/embedded/store.ts';
import type { Log } from '../../../streams/log.ts';
import type { Topic } from '../../../streams/topic.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { allTopics, type Scored, topics } from '../../../topics/index.ts';
import { freshFolders } from '../../support/folder.ts';
import { metric, samples } from '../../support/records.ts';

const fresh = freshFolders();

const record = (i: number): Scored => ({
  ...samples.scored.full,
  question: { ...samples.scored.full.question, id: `q${i}` },
});

async function filled(folder: string, count: number): Promise<Log> {
  const clock = manualClock(1000);
  const log = await openLog({ folder, mode: 'write', clock, topics: allTopics });
  for (let i = 0; i < count; i++) {
    clock.advance(10);
    await log.commit((tx) => {
      tx.append(topics.scored, record(i));
      tx.append(topics.metrics, metric({ step: i }));
    });
  }
  return log;
}

const idsOf = (log: Log): Promise<string[]> =>
  lastValueFrom(
    log.tap(topics.scored, { from: { kind: 'earliest' }, follow: false }).pipe(
      map(({ value }) => value.question.id),
      toArray(),
    ),
  );

const ids = (count: number): string[] => Array.from({ length: count }, (_, i) => `q${i}`);

describe('the archive', () => {
  test('is in the folder of the log by default, and takes only large topics', async () => {
    const folder = fresh();
    const log = await filled(folder, 30);
    await log.retain!({ bytesMax: 0, segmentRecords: 8 });
    expect(readdirSync(join(folder, 'archive'))).toEqual(['scored']);
    expect(readdirSync(join(folder, 'archive', 'scored')).sort()).toEqual([
      expect.stringMatching(/^0{12}-[0-9a-f]{16}\.gz$/),
      expect.stringMatching(/^0{11}8-[0-9a-f]{16}\.gz$/),
    ]);
    expect(await idsOf(log)).toEqual(ids(30));
    await log.close();
  });

  test('is not decompressed beyond the recorded size', async () => {
    const folder = fresh();
    const log = await filled(folder, 30);
    await log.retain!({ bytesMax: 0, segmentRecords: 8 });
    await log.close();
    const [name] = readdirSync(join(folder, 'archive', 'scored'));
    const path = join(folder, 'archive', 'scored', name!);
    // 300 MB of zeros in 300 kB, by someone who also records the digest.
    const bomb = gzipSync(Buffer.alloc(300e6));
    writeFileSync(path, bomb);
    const store = new Store(folder, 'write');
    const { segments } = store.archived('scored');
    const digest = createHash('sha256').update(bomb).digest('hex');
    const heaviest = Math.max(...segments.map(({ plain }) => plain!));
    expect(heaviest).toBeLessThan(100_000);
    await store.close();
    const before = process.memoryUsage.rss();
    const hostile = { ...segments[0]!, file: join('archive', 'scored', name!), digest };
    const reader = new SegmentReader(folder);
    const all = { segments: [hostile], bytes: 0 };
    expect(() => reader.record('scored', 0, all)).toThrow(/Cannot create a Buffer larger than/);
    await expect(readSegment(folder, 'scored', hostile, 8)).rejects.toThrow(/larger than/);
    expect(process.memoryUsage.rss() - before).toBeLessThan(200e6);
  });

  test('is read by a fork, which needs it no more', async () => {
    const folder = fresh();
    const log = await filled(folder, 30);
    await log.retain!({ bytesMax: 0, segmentRecords: 8 });
    await log.close();
    const to = join(fresh(), 'fork');
    const after = { topic: topics.metrics as Topic<unknown>, offset: 27 };
    await forkLog({ topics: allTopics, from: folder, to, after });
    renameSync(join(folder, 'archive'), join(folder, 'archive-gone'));
    const fork = await openLog({ folder: to, mode: 'read' });
    expect(await idsOf(fork)).toEqual(ids(28));
    await fork.close();
  });

  test('writes a segment again that a crash left without its entry', async () => {
    const folder = fresh();
    const log = await filled(folder, 30);
    const archive = join(folder, 'archive', 'scored');
    await log.retain!({ bytesMax: 0, segmentRecords: 8 });
    const [first] = readdirSync(archive).sort();
    await log.close();
    const again = await filled(fresh(), 30);
    writeFileSync(join(archive, first!), 'half');
    writeFileSync(join(archive, `${first}.new`), 'half');
    await again.retain!({ bytesMax: 0, segmentRecords: 8, archive: join(folder, 'archive') });
    expect(await idsOf(again)).toEqual(ids(30));
    await again.close();
  });
});
