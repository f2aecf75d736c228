/**
 * What the data of all pages share: the head of a run, the moment it shows, values safe for JSON, errors.
 */

import type { RunStatus } from '../../summary/facts/index.ts';
import type { RunState } from '../../summary/index.ts';

/** Version of the language between server and browser. */
export const WIRE = 1;

/** The body of every error, with what to do about it. */
export interface ErrorBody {
  readonly error: {
    /** `NO_RUN`, `NOT_FOUND`, `USAGE`, `TOKEN`, `HOST`, `DAMAGED`, `UNAVAILABLE`, … */
    readonly code: string;
    readonly message: string;
  };
}

export type { RunState, RunStatus };

/** A run, as in every page's head. */
export interface RunHead {
  readonly name: string;
  readonly job: string;
  readonly seed: number;
  readonly status: RunStatus;
  readonly state: RunState;
  /** A sentence if something should be said: how to resume it, why it failed. Else empty. */
  readonly stateText: string;
  readonly startedMs: number;
  /** Of its last start; null while it runs, and after a kill. */
  readonly endedMs: number | null;
  /** How often it was started. */
  readonly starts: number;
  /** Newest optimiser step and policy version (as of `at`). */
  readonly step: number | null;
  readonly version: number | null;
  /** The last word from any of its processes. */
  readonly heardMs: number | null;
  /** Where its records are: `folder`, or a Kafka URL without secrets. */
  readonly log: string;
}

/** The moment that the data shows; null in its place = now. */
export interface At {
  readonly step: number;
  readonly version: number;
  readonly atMs: number;
  /** Of the record in `weights`. */
  readonly ref: string;
}

/** The frame of every page's data. */
export interface OfRun {
  readonly wire: number;
  readonly nowMs: number;
  readonly run: RunHead;
  readonly at: At | null;
  /** The command that shows the same in a terminal, as it is typed where the server was started. */
  readonly command: string;
}

/** A text of which only the beginning is given. */
export interface Cut {
  readonly $cut: {
    readonly text: string;
    /** UTF-16 units given, and in all. */
    readonly shown: number;
    readonly total: number;
  };
}

/** Numbers that are packed in the record; the first 32 of them. */
export interface Packed {
  readonly $packed: {
    readonly type: 'int32' | 'float32';
    readonly total: number;
    readonly first: readonly (number | null)[];
  };
}

/** A number that JSON cannot express. */
export interface Odd {
  readonly $number: 'NaN' | 'Infinity' | '-Infinity';
}

/**
 * A record's value or a part of it, safe for JSON: long texts are `Cut`, packed numbers `Packed`; a list cut
 * short ends with `{ $more: n }`.
 */
export type Shown =
  | string
  | number
  | boolean
  | null
  | Cut
  | Packed
  | Odd
  | { readonly $more: number }
  | readonly Shown[]
  | { readonly [field: string]: Shown };

/** 95 %. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}
