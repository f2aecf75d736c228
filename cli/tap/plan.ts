/** A tap's options, parsed and checked before anything is opened. */
import type { From, Only, Stored } from '../../streams/index.ts';
import { usageError } from '../failure.ts';
import { parseInterval } from '../interval.ts';
import type { Io } from '../io.ts';
import { diff } from './diff.ts';
import { pickFields } from './fields.ts';
import { type Filter, grep, keyIs, type Where, where } from './filters.ts';
import { type FormatFor, formatOf } from './formats.ts';
import { TRUNCATE } from './pretty.ts';
import { parseFrom, parsePartitions, parseTo } from './range.ts';

export interface TapOptions {
  /** Each `<run>.<topic>` or a topic; `*` and `?` are wildcards. */
  readonly topics: readonly string[];
  readonly run?: string;
  readonly runs: string;
  readonly from?: string;
  readonly to?: string;
  readonly follow?: boolean;
  /** Limit of records to print. */
  readonly count?: number;
  readonly partition?: string;
  readonly key?: readonly string[];
  readonly question?: readonly string[];
  readonly keyPrefix?: readonly string[];
  readonly grep?: string;
  readonly where?: string;
  readonly fields?: string;
  readonly diff?: boolean;
  readonly stats?: string | true;
  readonly output: string;
  readonly envelope?: boolean;
  /** Characters; 0 = no limit. */
  readonly truncate?: number;
}

export interface Plan {
  /** What to read from the log. */
  readonly range: {
    readonly from: From;
    readonly to?: From;
    readonly follow: boolean;
    readonly partitions?: readonly number[];
    /** Those that the log finds without reading the others. */
    readonly only?: Only;
  };
  readonly countMax: number;
  /** A record is taken if all of them accept it. */
  readonly filters: readonly Filter[];
  /** After these. */
  readonly where: Where | null;
  /** Which parts of a record to show; undefined = nothing. */
  readonly view: (stored: Stored<unknown>) => unknown;
  readonly format: FormatFor;
  /** Null = no statistics. */
  readonly statsMs: number | null;
}

/** Fails with code `USAGE`, naming the option and what it takes. */
export function planOf(options: TapOptions, io: Io): Plan {
  const { fields, output } = options;
  const partsBy = options.diff === true ? '--diff' : fields === undefined ? null : '--fields';
  // A change is one of a key; a choice of fields includes those of the envelope.
  const envelope =
    partsBy === null ? (options.envelope === true ? true : null) : partsBy === '--diff';
  const truncate = options.truncate === 0 ? Number.POSITIVE_INFINITY : options.truncate;
  return {
    range: rangeOf(options, io),
    countMax: options.count ?? Number.POSITIVE_INFINITY,
    filters: filtersOf(options),
    where: options.where === undefined ? null : where(options.where),
    view: viewOf(options),
    format: formatOf(output, { envelope, partsBy, truncate: truncate ?? TRUNCATE }),
    statsMs:
      options.stats === undefined
        ? null
        : parseInterval('--stats', options.stats === true ? '1s' : options.stats),
  };
}

/** Which part of a topic to read. */
export type RangeOptions = Pick<
  TapOptions,
  'from' | 'to' | 'follow' | 'partition' | 'key' | 'keyPrefix' | 'question'
>;

export function rangeOf(options: RangeOptions, { clock }: Io): Plan['range'] {
  const { to, partition } = options;
  const only = onlyOf(options);
  const follow = options.follow === true;
  if (follow && to !== undefined) {
    throw usageError('--to and -f exclude each other: --to ends the tap, -f keeps it running');
  }
  return {
    follow,
    from: parseFrom(options.from ?? (follow ? 'latest' : 'earliest'), clock.now()),
    ...(to === undefined ? {} : { to: parseTo(to, clock.now()) }),
    ...(partition === undefined ? {} : { partitions: parsePartitions(partition) }),
    ...(only === null ? {} : { only }),
  };
}

/** What a log can find by its index. Keys together with prefixes are looked for among all records. */
function onlyOf({ question = [], key = [], keyPrefix = [] }: RangeOptions): Only | null {
  if (question.length > 0) return { subjects: question };
  return key.length > 0 && keyPrefix.length === 0 ? { keys: key } : null;
}

function filtersOf(options: TapOptions): Filter[] {
  const { key = [], keyPrefix = [] } = options;
  return [
    ...(key.length + keyPrefix.length === 0 ? [] : [keyIs(key, keyPrefix)]),
    ...(options.grep === undefined ? [] : [grep(options.grep)]),
  ];
}

function viewOf(options: TapOptions): Plan['view'] {
  const pick = options.fields === undefined ? null : pickFields(options.fields);
  const picked = (stored: Stored<unknown>): unknown =>
    pick === null ? stored.value : pick(stored);
  if (options.diff !== true) return picked;
  const different = diff();
  return (stored) => different(stored, picked(stored)) ?? undefined;
}
