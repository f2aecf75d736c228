/**
 * The history of a log: what each transaction changed, from which its standing at any moment follows.
 *
 * A moment is small (offsets, no records), one per transaction. Folding the moments up to one of them gives
 * the ends of the topics, what each group had settled and the marks, as they were right after it: the state
 * in which a process that was killed there would have left the log.
 */
import { MillraceError } from '../../base/index.ts';
import type { Mark, Standing } from '../log.ts';
import { Progress } from '../progress.ts';

/** What one transaction changed. */
export interface Moment {
  /** By topic: offset of the first record appended, and of the one after the last. */
  readonly appended: Readonly<Record<string, readonly [from: number, to: number]>>;
  /** Topic, group, and the offsets settled (none: the group became known). */
  readonly settled: readonly (readonly [
    topic: string,
    group: string,
    offsets: readonly number[],
  ])[];
  readonly marks: Readonly<Record<string, Mark>>;
}

/**
 * The standing right after the transaction that appended record `offset` of `topic`. Fails with code
 * `NO_HISTORY`.
 */
export function standingAfter(moments: Iterable<Moment>, topic: string, offset: number): Standing {
  const ends: Record<string, number> = {};
  const marks: Record<string, Mark> = {};
  const groups = new Map<string, Map<string, Progress>>();
  for (const moment of moments) {
    for (const [name, [from, to]] of Object.entries(moment.appended)) {
      if (from !== (ends[name] ?? 0)) throw noHistory(topic, offset);
      ends[name] = to;
    }
    for (const [name, group, offsets] of moment.settled) {
      const known = groups.get(name) ?? new Map<string, Progress>();
      const progress = known.get(group) ?? new Progress();
      for (const settled of offsets) progress.settle(settled);
      groups.set(name, known.set(group, progress));
    }
    Object.assign(marks, moment.marks);
    if ((ends[topic] ?? 0) > offset) return { ends, marks, settled: states(groups) };
  }
  throw noHistory(topic, offset);
}

function states(groups: ReadonlyMap<string, ReadonlyMap<string, Progress>>): Standing['settled'] {
  return Object.fromEntries(
    [...groups].map(([topic, known]) => [
      topic,
      Object.fromEntries([...known].map(([group, progress]) => [group, progress.toState()])),
    ]),
  );
}

function noHistory(topic: string, offset: number): MillraceError {
  return new MillraceError(
    'NO_HISTORY',
    `the log has no history for ${topic}@${offset}: the run was started with a version of millrace that kept none; only runs started since can be rewound`,
    { context: { topic, offset } },
  );
}
