/**
 * Stages, sinks and sources as plain descriptions. Nothing happens until `runFlow`.
 *
 * A stage reads one topic in the group of its own name, runs an operator, and what leaves the operator
 * is appended to its output topic in the commit that settles what caused it.
 */
import type { Observable, OperatorFunction } from 'rxjs';
import type { Delivery } from './deliveries/delivery.ts';
import type { Feedback } from './feedback.ts';
import type { Resumable } from './resumable.ts';
import type { Overflow } from './run/buffered.ts';
import type { SourceItem } from './sourceItem.ts';
import type { Topic } from './topic.ts';

export type { SourceItem } from './sourceItem.ts';

/** An operator on deliveries: made of the primitives in `primitives.ts`. */
export type Run<In, Out> = OperatorFunction<Delivery<In>, Delivery<Out>>;

export interface StageOptions {
  /** Limit of unsettled records per partition. A stage that gathers groups needs room for all open ones. */
  readonly inflightMax?: number;
}

/** A part that reads one topic, runs an operator, and writes at most one topic. Made by `stage` or `sink`. */
export interface Stage {
  readonly kind: 'stage';
  /** Also the name of its reading group: give it another and it reads from the start. */
  readonly name: string;
  readonly from: Topic<unknown>;
  /** Null: what leaves the operator is settled and not written. */
  readonly to: Topic<unknown> | null;
  readonly run: Run<unknown, unknown>;
  readonly inflightMax: number;
  /** The loop that it closes, if any. */
  readonly feedback: Feedback<unknown> | null;
}

/**
 * Items that come in the same order whenever they are read: a list, a generator, an asynchronous one, an
 * Observable.
 */
export type PlainItems<T> =
  | Iterable<SourceItem<T>>
  | AsyncIterable<SourceItem<T>>
  | Observable<SourceItem<T>>;

/**
 * The items of a source: such items, or a source that says where it is and goes on there (`resumable.ts`).
 */
export type Items<T> = PlainItems<T> | Resumable<T>;

export interface SourceOptions {
  /**
   * The source waits while the slowest reader of its topic is this many records behind (or its `inflightMax`,
   * if that is more). 4,096 by default.
   */
  readonly leadMax?: number;
  /**
   * For an Observable, which cannot be made to wait: the limit of items that wait to be appended. 4,096 by
   * default.
   */
  readonly bufferMax?: number;
  /**
   * Of an Observable: an item too many fails the source with code `SOURCE_FULL` (default), or one is dropped.
   */
  readonly overflow?: Overflow;
  /**
   * When the run is started again: `skip` skips as many items as are in the log (`items` begins where
   * it always begins; the default), `continue` takes what comes (live items, which do not come twice; the
   * default if items may be dropped). A resumable source continues after its cursor instead.
   */
  readonly onResume?: 'skip' | 'continue';
}

/** A part that appends items from outside to a topic. Made by `source`. */
export interface Source {
  readonly kind: 'source';
  readonly name: string;
  readonly to: Topic<unknown>;
  readonly items: Items<unknown>;
  readonly leadMax: number;
  readonly bufferMax: number;
  readonly overflow: Overflow;
  readonly onResume: 'skip' | 'continue';
}

const INFLIGHT_MAX = 256;
/** The default of `bufferMax`. */
export const BUFFER_MAX = 4096;
const LEAD_MAX = 4096;

/** From one topic to another through an operator. */
export function stage<In, Out>(
  name: string,
  from: Topic<In>,
  to: Topic<Out> | Feedback<Out> | null,
  run: Run<In, Out>,
  options: StageOptions = {},
): Stage {
  const loop = to !== null && 'kind' in to ? to : null;
  const topic = to !== null && 'kind' in to ? to.topic : to;
  return {
    kind: 'stage',
    name,
    from: from as Topic<unknown>,
    to: topic as Topic<unknown> | null,
    // The runner feeds it records of `from` only and writes its output to `to` only.
    run: run as unknown as Run<unknown, unknown>,
    inflightMax: options.inflightMax ?? INFLIGHT_MAX,
    feedback: loop as Feedback<unknown> | null,
  };
}

/** The end of a graph: a stage that may write to a topic, close a feedback loop, or do neither. */
export const sink: typeof stage = stage;

/**
 * The beginning of a graph. `items` must yield the same sequence whenever it is iterated or subscribed to: on
 * resume the items that are in the log already are skipped, so each is appended exactly once (but see
 * `onResume`). Endless input says where it is instead: `resumable.ts`.
 */
export function source<T>(
  name: string,
  to: Topic<T>,
  items: Items<T>,
  options: SourceOptions = {},
): Source {
  const { leadMax = LEAD_MAX, bufferMax = BUFFER_MAX, overflow = 'fail' } = options;
  const onResume = options.onResume ?? (overflow === 'fail' ? 'skip' : 'continue');
  const topic = to as Topic<unknown>;
  return { kind: 'source', name, to: topic, items, leadMax, bufferMax, overflow, onResume };
}
