/**
 * What a log owes that archives its old records, as a suite: both logs pass it. Records are committed eight
 * at a time, so that on Kafka marks of transactions are between them.
 */
import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import type { From, Log, Stored, TapOptions } from '../../streams/log.ts';
import { type ManualClock, manualClock } from '../../testing/manualClock.ts';
import { type Scored, topics } from '../../topics/index.ts';
import { freshFolders } from './folder.ts';
import type { LogUnderTest } from './logContract.ts';
import { metric, samples } from './records.ts';

const EARLIEST = { kind: 'earliest' } as const;

const scored = (i: number): Scored => ({
  ...samples.scored.full,
  question: { ...samples.scored.full.question, id: `q${i}` },
});

const ids = (to: number, from = 0): string[] =>
  Array.from({ length: to - from }, (_, i) => `q${from + i}`);

const idsOf = (records: readonly { readonly value: Scored }[]): string[] =>
  records.map(({ value }) => value.question.id);

export function keepsRetentionContract(
  name: string,
  openFresh: (clock: ManualClock) => Promise<LogUnderTest>,
): void {
  describe(`${name} keeps the contract of retention`, () => {
    const fresh = freshFolders();
    let clock: ManualClock;
    let under: LogUnderTest;
    let log: Log;

    beforeEach(async () => {
      clock = manualClock(1000);
      under = await openFresh(clock);
      log = under.log;
    });
    afterEach(() => under.remove());

    async function fill(from: number, to: number): Promise<void> {
      for (let i = from; i < to; i += 8) {
        clock.advance(10);
        await log.commit((tx) => {
          for (let j = i; j < Math.min(i + 8, to); j++) tx.append(topics.scored, scored(j));
          tx.append(topics.metrics, metric({ step: i }));
        });
      }
    }

    const tap = (
      from: From = EARLIEST,
      options: Partial<TapOptions> = {},
    ): Promise<Stored<Scored>[]> =>
      lastValueFrom(log.tap(topics.scored, { from, follow: false, ...options }).pipe(toArray()));

    /** What the group reads next, settled. */
    async function settle(count: number): Promise<readonly string[]> {
      const read$ = log.read(topics.scored, { group: 'reader', inflightMax: 1000 });
      const deliveries = await firstValueFrom(read$.pipe(take(count), toArray()));
      await log.commit((tx) => {
        for (const delivery of deliveries) tx.settle(delivery);
      });
      return idsOf(deliveries);
    }

    test('archives by size, the oldest segments first, which are read as before', async () => {
      await fill(0, 48);
      await settle(48);
      const [all, stats] = [await tap(), await log.stats()];
      const { bytes } = stats.find(({ topic }) => topic === 'scored')!;
      const retention = { bytesMax: bytes / 2, segmentRecords: 8, archive: fresh() };
      expect(await log.retain!(retention)).toEqual({ records: 32, segments: 4 });
      expect(await log.retain!(retention)).toEqual({ records: 0, segments: 0 });
      const same = async (): Promise<void> => {
        expect(await log.stats()).toEqual(stats);
        expect(await tap()).toEqual(all);
        const { position, atMs } = all[13]!;
        expect(await tap({ kind: 'offset', offset: position.offset })).toEqual(all.slice(13));
        expect(await tap({ kind: 'time', atMs })).toEqual(
          all.filter((record) => record.atMs >= atMs),
        );
        expect(await tap({ kind: 'last', count: 40 })).toEqual(all.slice(8));
        expect(await tap(EARLIEST, { only: { keys: ['q5', 'q40'] } })).toEqual([all[5], all[40]]);
        const wanted = [40, 3, 31, 0].map((i) => all[i]!);
        const positions = wanted.map((record) => record.position);
        expect(await log.fetch(topics.scored, positions)).toEqual(wanted);
      };
      await same();
      log = await under.reopen();
      await same();
      await fill(48, 56);
      expect(await settle(8)).toEqual(ids(56, 48));
      expect(idsOf(await tap())).toEqual(ids(56));
    });

    test('archives by age, except the newest and what a group has not settled', async () => {
      await fill(0, 40);
      await settle(21);
      const archive = fresh();
      expect(await log.retain!({ ageMaxMs: 60, segmentRecords: 4, archive })).toEqual({
        records: 0,
        segments: 0,
      });
      clock.advance(1000);
      // 21 are settled; of those as many stay as a segment has.
      expect(await log.retain!({ ageMaxMs: 60, segmentRecords: 4, archive })).toEqual({
        records: 16,
        segments: 4,
      });
      expect(readdirSync(archive)).toHaveLength(1);
      log = await under.reopen();
      expect(await settle(19)).toEqual(ids(40, 21));
    });

    test('starts a new group with archived records', async () => {
      await fill(0, 24);
      await log.retain!({ bytesMax: 0, segmentRecords: 8, archive: fresh() });
      expect(await settle(24)).toEqual(ids(24));
      expect(await log.lag(topics.scored, 'reader')).toBe(0);
    });

    test('names a missing segment, and reads it once it is put back', async () => {
      await fill(0, 32);
      const archive = join(fresh(), 'far');
      await log.retain!({ bytesMax: 0, segmentRecords: 8, archive });
      const all = await tap();
      log = await under.reopen();
      renameSync(archive, `${archive}-gone`);
      const missing = {
        code: 'ARCHIVED',
        message: expect.stringMatching(/does not exist: put it/),
      };
      await expect(tap()).rejects.toMatchObject(missing);
      await expect(log.fetch(topics.scored, [all[3]!.position])).rejects.toMatchObject({
        ...missing,
        message: expect.stringMatching(/records 0 to 7 of scored.*far.*reading at offset 8/),
      });
      const { position } = all[24]!;
      expect(idsOf(await tap({ kind: 'offset', offset: position.offset }))).toEqual(ids(32, 24));
      await fill(32, 40);
      renameSync(`${archive}-gone`, archive);
      expect(idsOf(await tap())).toEqual(ids(40));
      log = await under.reopen();
      const [folder] = readdirSync(archive);
      const [first] = readdirSync(join(archive, folder!)).sort();
      writeFileSync(join(archive, folder!, first!), 'something else');
      await expect(tap()).rejects.toMatchObject({
        code: 'ARCHIVED',
        message: expect.stringContaining('its digest does not match'),
      });
    });
  });
}
