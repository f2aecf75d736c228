/**
 * Which tokens get which colour: eight steps of one blue by surprise or entropy, six colours by policy
 * version. Pure.
 */
import type { Tokens } from './tokens.ts';

export type Paint = 'logprob' | 'entropy' | 'version' | 'none';
export const paints: readonly Paint[] = ['logprob', 'entropy', 'version', 'none'];

/** Whether these tokens can be coloured so; while they are not there yet, any may be. */
export function isKnown(tokens: Tokens | null, paint: Paint): boolean {
  if (tokens === null) return true;
  return paint === 'logprob'
    ? tokens.logProb !== null
    : paint !== 'entropy' || tokens.entropy !== null;
}

/**
 * In nats, the same for every trajectory, so that colours can be compared. A value below the first has no
 * colour.
 */
export const steps: Readonly<Record<'logprob' | 'entropy', readonly number[]>> = {
  logprob: [0.1, 0.3, 0.7, 1.2, 2, 3, 5],
  entropy: [0.1, 0.25, 0.5, 0.9, 1.4, 2, 3],
};

/** How much a token stands out in that way; NaN if it is not known. */
export function amountOf(tokens: Tokens, paint: 'logprob' | 'entropy', token: number): number {
  if (tokens.isTool(token)) return Number.NaN;
  return paint === 'logprob'
    ? -(tokens.logProb?.[token] ?? Number.NaN)
    : (tokens.entropy?.[token] ?? Number.NaN);
}

export function levelOf(amount: number, paint: 'logprob' | 'entropy'): number {
  let level = 0;
  while (level < 7 && amount >= steps[paint][level]!) level++;
  return level;
}

/** The class of a token in that way of painting; '' = no colour. */
export function nameOf(tokens: Tokens, paint: Paint, token: number): string {
  if (paint === 'none' || tokens.isTool(token)) return '';
  if (paint === 'version') {
    const version = tokens.version(token);
    return version === null ? '' : versionName(version, tokens.version(0) ?? 0);
  }
  const level = levelOf(amountOf(tokens, paint, token), paint);
  return level === 0 ? '' : `level${level}`;
}

/** The class of a policy version, counted from the first of the trajectory. */
export function versionName(version: number, first: number): string {
  return `version${(((version - first) % 6) + 6) % 6}`;
}

/** Tokens [start, end) of one class. */
export interface Run {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Neighbours of one class are one run, so that there are few of them. `top` = those above the 95th
 * percentile.
 */
export function runsOf(tokens: Tokens, paint: Paint): readonly Run[] {
  if (paint === 'none') return [];
  const runs = joined(tokens.count, (token) => nameOf(tokens, paint, token));
  // The entropy is that of the turn: its highest is a whole turn.
  if (paint !== 'logprob') return runs;
  const most = highest(tokens, paint);
  return [
    ...runs,
    ...joined(tokens.count, (token) => (amountOf(tokens, paint, token) >= most ? 'top' : '')),
  ];
}

function joined(count: number, nameOf: (token: number) => string): Run[] {
  const runs: Run[] = [];
  let [name, start] = ['', 0];
  for (let token = 0; token <= count; token++) {
    const next = token < count ? nameOf(token) : '';
    if (next === name) continue;
    if (name !== '') runs.push({ name, start, end: token });
    [name, start] = [next, token];
  }
  return runs;
}

/** The 95th percentile of those that have any colour at all; infinite if none has. */
export function highest(tokens: Tokens, paint: 'logprob' | 'entropy'): number {
  const known: number[] = [];
  for (let token = 0; token < tokens.count; token++) {
    const amount = amountOf(tokens, paint, token);
    if (amount >= steps[paint][0]!) known.push(amount);
  }
  if (known.length === 0) return Number.POSITIVE_INFINITY;
  known.sort((a, b) => a - b);
  return known[Math.floor(0.95 * (known.length - 1))]!;
}

/**
 * The largest value within each of `columns` equal parts of the response, for a strip of that many pixels.
 */
export function stripOf(
  tokens: Tokens,
  paint: 'logprob' | 'entropy',
  columns: number,
): Float32Array {
  const strip = new Float32Array(columns);
  for (let token = 0; token < tokens.count; token++) {
    const column = Math.min(columns - 1, Math.floor((token / tokens.count) * columns));
    const amount = amountOf(tokens, paint, token);
    if (amount > strip[column]!) strip[column] = amount;
  }
  return strip;
}
