/**
 * A log as it stood right after one of its commits, as a log of its own: what a process that was killed there
 * would have left. Records, what each group had settled, marks, schemas and history up to that moment are
 * copied; the log that they come from is only read, and may be written meanwhile.
 */
import { MillraceError } from '../../base/index.ts';
import type { Standing } from '../log.ts';
import type { Topic } from '../topic.ts';
import { type Moment, standingAfter } from './history.ts';
import { indexStore } from './keys/indexLog.ts';
import { Store } from './store.ts';

export interface ForkOptions {
  /** Folders of the two logs; there must be no log in `to`. */
  readonly from: string;
  readonly to: string;
  /** The record whose commit is the last. */
  readonly after: { readonly topic: Topic<unknown>; readonly offset: number };
  /** Topics whose records are found by key. */
  readonly topics: readonly Topic<unknown>[];
}

/** Records in one transaction. */
const CHUNK = 512;

/** Resolves with the state of the fork. Fails with code `NO_HISTORY`. */
export async function forkLog({ from, to, after, topics }: ForkOptions): Promise<Standing> {
  const source = new Store(from, 'read');
  const target = new Store(to, 'write');
  try {
    const { topic, offset } = after;
    const standing = standingAfter(source.history(), topic.name, offset);
    if (target.heads().length > 0) {
      throw new MillraceError('FORK', `${to} already holds a log; choose another folder`);
    }
    for (const [name, end] of Object.entries(standing.ends)) {
      await copyRecords(source, target, name, end);
    }
    await writeState(source, target, standing, after);
    await indexStore(target, topics);
    return standing;
  } finally {
    await source.close();
    await target.close();
  }
}

async function copyRecords(
  source: Store,
  target: Store,
  topic: string,
  end: number,
): Promise<void> {
  for (let start = 0; start < end; start += CHUNK) {
    await target.write((writes) => {
      for (let offset = start; offset < Math.min(end, start + CHUNK); offset++) {
        const envelope = source.record(topic, offset);
        if (envelope === undefined) {
          throw new MillraceError('NOT_FOUND', `${topic}@${offset} is missing; the log is damaged`);
        }
        writes.put(topic, offset, envelope);
      }
    });
    source.refresh();
  }
}

/** Makes the copied records visible, in the last transaction. */
async function writeState(
  source: Store,
  target: Store,
  { ends, settled, marks }: Standing,
  { topic, offset }: ForkOptions['after'],
): Promise<void> {
  const bytes = new Map(source.heads());
  await target.write((writes) => {
    for (const [name, end] of Object.entries(ends)) {
      // Record sizes are informative only, so a proportional share will do.
      const whole = bytes.get(name) ?? { end, bytes: 0 };
      writes.putHead(name, {
        end,
        bytes: Math.round((whole.bytes * end) / Math.max(1, whole.end)),
      });
      writes.putSchemas(name, source.schemas(name));
    }
    for (const [name, groups] of Object.entries(settled)) {
      for (const [group, state] of Object.entries(groups)) writes.putProgress(name, group, state);
    }
    for (const [name, value] of Object.entries(marks)) writes.putMark(name, value);
    for (const [number, moment] of upTo(source.history(), topic.name, offset)) {
      writes.putMoment(number, moment);
    }
  });
}

/** Moments with their numbers, up to the one that appended this record. */
function* upTo(
  moments: Iterable<Moment>,
  topic: string,
  offset: number,
): Generator<readonly [number: number, moment: Moment]> {
  let number = 0;
  for (const moment of moments) {
    yield [number++, moment];
    if ((moment.appended[topic]?.[1] ?? 0) > offset) return;
  }
}
