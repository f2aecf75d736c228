/** The topics of a run and their records: `/r/RUN/topics`. */
import type { OfRun, Shown } from './common.ts';
import type { MillTopic } from './mill.ts';

export interface TopicsData extends OfRun {
  readonly topics: readonly MillTopic[];
}

export interface TopicData extends OfRun {
  readonly topic: MillTopic;
  /** What its key is, in a word or two: `question id`, `step`, … */
  readonly keyIs: string;
  /** Fields that `where=` knows, for completion. */
  readonly fields: readonly string[];
  readonly dir: 'back' | 'on';
  /** As it was understood; empty for none. */
  readonly where: string;
  readonly rows: readonly TopicRow[];
  readonly unreadable: readonly UnreadableRow[];
  /** Records read for this answer, out of those in the topic. */
  readonly scanned: number;
  readonly of: number;
  /**
   * The query of the next answer in the same direction (`offset=…&dir=…`), to be merged into this one; null
   * at the end.
   */
  readonly next: string | null;
}

export interface TopicRow {
  readonly ref: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly atMs: number;
  readonly bytes: number;
  /** A line about it. */
  readonly line: string;
  readonly value: Shown;
  /** Whether part of it is cut. */
  readonly cut: boolean;
  /** Pages about it: paths without origin. */
  readonly links: readonly { readonly label: string; readonly href: string }[];
}

export interface UnreadableRow {
  readonly ref: string;
  readonly reason: string;
  /** The number of the writer's schema and its first 64 bytes; null if they are damaged. */
  readonly schema: number | null;
  readonly hex: string | null;
}
