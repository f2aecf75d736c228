/**
 * Keeps a log small: the oldest records of the large topics go to the archive once they are more, or older,
 * than allowed.
 *
 * Only whole segments go, only what every group has settled, and never the newest ones. Other topics stay:
 * every start reads them. Each log finds and drops segments in its own way.
 */
import type { Retained, Retention } from '../log.ts';
import type { Topic } from '../topic.ts';

/** Names of the topics whose records may leave the log. */
export function largeOf(topics: readonly Topic<unknown>[]): readonly string[] {
  return topics.filter(({ large }) => large).map(({ name }) => name);
}

const SEGMENT_RECORDS = 1024;

/** A segment that may leave the log. */
export interface Candidate {
  /** Time of its newest record. */
  readonly newestMs: number;
}

/** A log as retention sees it. */
export interface Shrinking<C extends Candidate> {
  /** Of the large topics: what the log still holds. */
  keptBytes(): number;
  /**
   * The oldest whole segment of each large topic (or partition), if all groups have settled it and newer ones
   * stay.
   */
  candidates(records: number): Promise<readonly C[]>;
  /** Archives a segment and drops it. A crash at any moment neither loses a record nor duplicates one. */
  move(candidate: C): Promise<void>;
}

/** Moves what exceeds the limits, oldest first. */
export async function retain<C extends Candidate>(
  log: Shrinking<C>,
  { bytesMax, ageMaxMs, segmentRecords = SEGMENT_RECORDS }: Retention,
  nowMs: number,
): Promise<Retained> {
  let segments = 0;
  for (;;) {
    const tooMuch = bytesMax !== undefined && log.keptBytes() > bytesMax;
    if (!tooMuch && ageMaxMs === undefined) break;
    const [oldest] = [...(await log.candidates(segmentRecords))].sort(
      (a, b) => a.newestMs - b.newestMs,
    );
    if (oldest === undefined) break;
    const tooOld = ageMaxMs !== undefined && oldest.newestMs < nowMs - ageMaxMs;
    if (!tooOld && !tooMuch) break;
    await log.move(oldest);
    segments += 1;
  }
  return { records: segments * segmentRecords, segments };
}
