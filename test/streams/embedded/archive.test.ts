/** Records that leave the log's file for the archive, and are read back from there. */
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { firstValueFrom, lastValueFrom, map, take, toArray } from 'rxjs';
import { forkLog } from '../../../streams/embedded/forkLog.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { flow } from '../../../streams/flow.ts';
import type { Log } from '../../../streams/log.ts';
import { mapEach } from '../../../streams/primitives.ts';
import type { Scored } from '../../../streams/records.ts';
import { runFlow } from '../../../streams/run/runFlow.ts';
import { sink } from '../../../streams/stage.ts';
import type { Topic } from '../../../streams/topic.ts';
import { topics } from '../../../streams/topics.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { freshFolders } from '../../support/folder.ts';
import { metric, samples } from '../../support/records.ts';

const fresh = freshFolders();

const record = (i: number): Scored => ({
  ...samples.scored.full,
  question: { ...samples.scored.full.question, id: `q${i}` },
});

async function filled(folder: string, count: number, settled = count): Promise<Log> {
  const clock = manualClock(1000);
  const log = await openLog({ folder, mode: 'write', clock });
  for (let i = 0; i < count; i++) {
    clock.advance(10);
    await log.commit((tx) => {
      tx.append(topics.scored, record(i));
      tx.append(topics.metrics, metric({ step: i }));
    });
  }
  await settle(log, settled);
  return log;
}

/** A group that settles the first `count` records. */
async function settle(log: Log, count: number): Promise<void> {
  const deliveries = await firstValueFrom(
    log.read(topics.scored, { group: 'reader', inflightMax: 1000 }).pipe(take(count), toArray()),
  );
  await log.commit((tx) => {
    for (const delivery of deliveries) tx.settle(delivery);
  });
}

const idsOf = (log: Log, from = 0): Promise<string[]> =>
  lastValueFrom(
    log.tap(topics.scored, { from: { kind: 'offset', offset: from }, follow: false }).pipe(
      map(({ value }) => value.question.id),
      toArray(),
    ),
  );

const ids = (count: number, from = 0): string[] =>
  Array.from({ length: count - from }, (_, i) => `q${from + i}`);

describe('the archive', () => {
  test('takes the oldest whole segments by bytes, and what is read is the same', async () => {
    const folder = fresh();
    const log = await filled(folder, 50);
    const before = await log.stats();
    const bytes = before.find(({ topic }) => topic === 'scored')!.bytes;
    const moved = await log.retain!({ bytesMax: bytes / 2, segmentRecords: 8 });
    expect(moved).toEqual({ records: 32, segments: 4 });
    expect(await log.retain!({ bytesMax: bytes / 2, segmentRecords: 8 })).toEqual({
      records: 0,
      segments: 0,
    });
    expect(readdirSync(join(folder, 'archive', 'scored'))).toHaveLength(4);
    expect(await log.stats()).toEqual(before);
    expect(await idsOf(log)).toEqual(ids(50));
    expect(await idsOf(log, 5)).toEqual(ids(50, 5));
    const positions = [40, 3, 31].map((offset) => ({ partition: 0, offset }));
    const found = await log.fetch(topics.scored, positions);
    expect(found.map(({ value }) => value)).toEqual([40, 3, 31].map(record));
    expect((await log.fetch(topics.scored, [{ partition: 0, offset: 7 }]))[0]!.atMs).toBe(1080);
    await log.close();
    // From another process' eyes, by time too.
    const reader = await openLog({ folder, mode: 'read' });
    const since = { kind: 'time', atMs: 1100 } as const;
    const late = await firstValueFrom(reader.tap(topics.scored, { from: since, follow: false }));
    expect(late.value.question.id).toBe('q9');
    await reader.close();
  });

  test('takes by age, leaves what a group has not settled, and the newest', async () => {
    const folder = fresh();
    const log = await filled(folder, 40, 21);
    await log.retain!({ ageMaxMs: 0, segmentRecords: 4 });
    // 21 are settled; the newest segment's worth of those stays
    expect(readdirSync(join(folder, 'archive', 'scored')).sort()).toEqual(
      [0, 4, 8, 12].map((from) => `${String(from).padStart(12, '0')}.gz`),
    );
    expect(existsSync(join(folder, 'archive', 'metrics'))).toBe(false);
    await log.close();
    const again = await openLog({ folder, mode: 'write' });
    const seen: string[] = [];
    const reading = sink(
      'reader',
      topics.scored,
      null,
      mapEach(({ question }: Scored) => void seen.push(question.id), { concurrency: 1 }),
    );
    await runFlow(flow(reading), { log: again });
    expect(seen).toEqual(ids(40, 21));
    await again.close();
  });

  test('in a folder of its own may be moved away and put back; what is missing is named', async () => {
    const folder = fresh();
    const archive = join(fresh(), 'far');
    const log = await filled(folder, 30);
    await log.retain!({ bytesMax: 0, segmentRecords: 8, archive });
    await log.close();
    renameSync(archive, `${archive}-gone`);
    const reader = await openLog({ folder, mode: 'read' });
    await expect(idsOf(reader)).rejects.toMatchObject({
      code: 'ARCHIVED',
      message: expect.stringMatching(/records 0 to 7 of scored.*is not there.*from offset 8 on/),
    });
    const kept = await idsOf(reader, 16);
    expect(kept).toEqual(ids(30, 16));
    renameSync(`${archive}-gone`, archive);
    expect(await idsOf(reader)).toEqual(ids(30));
    writeFileSync(join(archive, 'scored', `${'0'.padStart(12, '0')}.gz`), 'no archive');
    await reader.close();
    const damaged = await openLog({ folder, mode: 'read' });
    await expect(idsOf(damaged)).rejects.toMatchObject({ code: 'ARCHIVED' });
    await damaged.close();
  });

  test('is read by a fork, which needs it no more', async () => {
    const folder = fresh();
    const log = await filled(folder, 30);
    await log.retain!({ bytesMax: 0, segmentRecords: 8 });
    await log.close();
    const to = join(fresh(), 'fork');
    const after = { topic: topics.metrics as Topic<unknown>, offset: 27 };
    await forkLog({ from: folder, to, after });
    renameSync(join(folder, 'archive'), join(folder, 'archive-gone'));
    const fork = await openLog({ folder: to, mode: 'read' });
    expect(await idsOf(fork)).toEqual(ids(28));
    await fork.close();
  });

  test('that a crash left a segment in without its entry writes it again', async () => {
    const folder = fresh();
    const log = await filled(folder, 30);
    mkdirSync(join(folder, 'archive', 'scored'), { recursive: true });
    for (const end of ['.gz', '.gz.new']) {
      writeFileSync(join(folder, 'archive', 'scored', `${'0'.padStart(12, '0')}${end}`), 'half');
    }
    await log.retain!({ bytesMax: 0, segmentRecords: 8 });
    expect(await idsOf(log)).toEqual(ids(30));
    await log.close();
  });
});
