/**
 * One trajectory as it grows: its tokens, their authors, and how it ends.
 *
 * Invariant: `logProbs` runs parallel to `tokens` (0 for a tool's), and `segments` tile them.
 */
import type { Generation } from '../../model/index.ts';
import type { Finish, Segment } from '../../topics/index.ts';
import { type Dialect, endTokens, type Part } from '../dialect/dialect.ts';
import type { BranchWorld } from './branchWorld.ts';

/** The helper that rewrites a response: the last name of the segment that it wrote. */
export const REFINER = 'refiner';

export interface Branch {
  readonly index: number;
  readonly parent: { readonly index: number; readonly offset: number } | null;
  readonly tokens: number[];
  readonly logProbs: number[];
  readonly segments: Segment[];
  /** Its own prompt, including what its environment shows; null = the group's. */
  prompt: Int32Array | null;
  /** Null = it has none, or none yet. */
  world: BranchWorld | null;
  calls: number;
  /** Number of the next call's record: for calls and helpers. */
  turns: number;
  /** Names of these since the last result. */
  readonly made: string[];
  /** Helpers used so far (helping.ts). */
  debugged: boolean;
  takenBack: boolean;
  refined: boolean;
  /** It writes once more and ends, because it called a tool beyond that tool's limit. */
  last: boolean;
  /** Step entropy of the first segment made by this branch itself: ARPO's baseline. */
  entropyFirst: number | null;
  entropyLast: number;
  /** Consecutive rounds, up to the last, in which it was cloned. */
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
    prompt: null,
    world: null,
    calls: 0,
    turns: 0,
    made: [],
    debugged: false,
    takenBack: false,
    refined: false,
    last: false,
    entropyFirst: null,
    entropyLast: 0,
    consecutive: 0,
    finish: null,
    reason: '',
    endedMs: 0,
  };
}

/** Its current state, to be examined after it has gone on. */
export function copy(branch: Branch): Branch {
  return {
    ...branch,
    tokens: [...branch.tokens],
    logProbs: [...branch.logProbs],
    segments: [...branch.segments],
    made: [...branch.made],
  };
}

/** A clone that continues independently from here; it copies no entropy baseline (ARPO §1.5). */
export function clone(source: Branch, index: number): Branch {
  return {
    ...root(index),
    parent: { index: source.index, offset: source.tokens.length },
    tokens: [...source.tokens],
    logProbs: [...source.logProbs],
    segments: [...source.segments],
    prompt: source.prompt,
    world: source.world,
    calls: source.calls,
    turns: source.turns,
    made: [...source.made],
    debugged: source.debugged,
    last: source.last,
  };
}

/** One segment per policy version: the step's entropy is the first one's. */
export function appendGeneration(branch: Branch, made: Generation, entropy: number | null): void {
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
      tool: null,
    });
  }
}

/** The last segment ends in a call of this tool, or of these (comma-separated). */
export function nameTool({ segments }: Branch, tool: string): void {
  const last = segments.pop();
  if (last !== undefined) segments.push({ ...last, tool });
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

/** Removes all tokens from `end` on. */
export function cutBack({ tokens, logProbs, segments }: Branch, end: number): void {
  tokens.length = end;
  logProbs.length = end;
  const kept = segments.filter((segment) => segment.start < end);
  const last = kept.pop();
  segments.splice(0, segments.length, ...kept);
  if (last === undefined) return;
  const isWhole = last.end <= end;
  segments.push(isWhole ? last : { ...last, end, tool: null });
}

/** Replaces the whole response by these tokens of the refiner, including their calls. */
export function replaceBy(branch: Branch, text: Int32Array): void {
  const { tokens, logProbs, segments, made } = branch;
  const version = segments.at(-1)?.version ?? 0;
  const before = segments.flatMap((one) => (one.kind === 'tool' && one.tool ? [one.tool] : []));
  const tool = [...before, ...made.splice(0)].join(',');
  tokens.splice(0, tokens.length, ...text);
  logProbs.splice(0, logProbs.length, ...Array.from(text, () => 0));
  const written = { kind: 'tool', start: 0, end: text.length, version, entropy: null } as const;
  segments.splice(0, segments.length, { ...written, tool });
}

/** What the policy wrote between two results is one part, without its end tokens; each result is another. */
export function partsOf(
  { tokens, segments }: Pick<Branch, 'tokens' | 'segments'>,
  { tokenizer, stopTokens }: Pick<Dialect, 'tokenizer' | 'stopTokens'>,
): Part[] {
  const ends = endTokens(tokenizer);
  return spansOf(segments).map(({ kind, start, end }) => {
    const written = tokens.slice(start, end);
    if (kind === 'tool') return { author: kind, text: tokenizer.decode(written) };
    const own = written.filter((token) => !ends.includes(token));
    const ended = stopTokens.includes(written.at(-1)!);
    return { author: kind, text: tokenizer.decode(own), ended };
  });
}

/** What a refiner wrote stands for what the policy had written. */
function authorOf({ kind, tool }: Segment): Segment['kind'] {
  return kind === 'tool' && tool?.split(',').at(-1) === REFINER ? 'policy' : kind;
}

/** Where the policy's last turn begins: after the last result, or at the response's beginning. */
export function turnStart({ segments }: Pick<Branch, 'segments'>): number {
  return segments.findLast(({ kind }) => kind === 'tool')?.end ?? 0;
}

function spansOf(segments: readonly Segment[]) {
  const spans: { readonly kind: Segment['kind']; readonly start: number; end: number }[] = [];
  for (const segment of segments) {
    const { start, end } = segment;
    const kind = authorOf(segment);
    const last = spans.at(-1);
    if (kind === 'policy' && last?.kind === 'policy') last.end = end;
    else spans.push({ kind, start, end });
  }
  return spans;
}
