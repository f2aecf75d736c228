/**
 * One trajectory while it grows: its tokens, who wrote them, and how it ends.
 *
 * Invariant: `logProbs` runs parallel to `tokens` (0 where a tool wrote), and `segments` tile them.
 */
import type { Generation } from '../../model/engine.ts';
import type { Finish, Segment } from '../../streams/records.ts';

export interface Branch {
  readonly index: number;
  readonly parent: { readonly index: number; readonly offset: number } | null;
  readonly tokens: number[];
  readonly logProbs: number[];
  readonly segments: Segment[];
  calls: number;
  /** Step entropy of the first segment made by this branch itself: ARPO's baseline. */
  entropyFirst: number | null;
  entropyLast: number;
  /** Rounds in a row, up to the last, in which it was cloned. */
  consecutive: number;
  finish: Finish | null;
  reason: string;
  endedMs: number;
}

export function root(index: number): Branch {
  return {
    index,
    parent: null,
    tokens: [],
    logProbs: [],
    segments: [],
    calls: 0,
    entropyFirst: null,
    entropyLast: 0,
    consecutive: 0,
    finish: null,
    reason: '',
    endedMs: 0,
  };
}

/** What it is now, to be looked at when it has gone on. */
export function copy(branch: Branch): Branch {
  return {
    ...branch,
    tokens: [...branch.tokens],
    logProbs: [...branch.logProbs],
    segments: [...branch.segments],
  };
}

/** A clone that goes on by itself from here; it copies no entropy baseline (ARPO §1.5). */
export function clone(source: Branch, index: number): Branch {
  return {
    ...root(index),
    parent: { index: source.index, offset: source.tokens.length },
    tokens: [...source.tokens],
    logProbs: [...source.logProbs],
    segments: [...source.segments],
    calls: source.calls,
  };
}

/** One segment a policy version: the step's entropy is the first one's, the tool that it calls the last one's. */
export function appendGeneration(
  branch: Branch,
  made: Generation,
  entropy: number | null,
  tool: string | null,
): void {
  const start = branch.tokens.length;
  branch.tokens.push(...made.tokens);
  branch.logProbs.push(...made.logProbs);
  const whole = { start: 0, end: made.tokens.length, version: made.version };
  const spans = (made.spans ?? [whole]).filter((span) => span.end > span.start);
  for (const [i, span] of spans.entries()) {
    branch.segments.push({
      kind: 'policy',
      start: start + span.start,
      end: start + span.end,
      version: span.version,
      entropy: i === 0 ? entropy : null,
      tool: i === spans.length - 1 ? tool : null,
    });
  }
}

/** Appends a tool's result, cut so that the response stays within `responseMax` tokens. */
export function appendResult(
  branch: Branch,
  result: Int32Array,
  tool: string,
  responseMax: number,
): void {
  const start = branch.tokens.length;
  const kept = result.subarray(0, Math.max(0, responseMax - start));
  if (kept.length === 0) return;
  branch.tokens.push(...kept);
  for (let i = 0; i < kept.length; i++) branch.logProbs.push(0);
  const version = branch.segments.at(-1)?.version ?? 0;
  branch.segments.push({
    kind: 'tool',
    start,
    end: start + kept.length,
    version,
    entropy: null,
    tool,
  });
}
