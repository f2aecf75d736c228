/**
 * A string that knows which message each of its characters came from, so that a rendering can be separated
 * into what the template wrote and what each message said, whatever the template did in between: trimming,
 * splitting, quoting as JSON.
 *
 * `Str` is a plain string when nothing in it came from a message. Positions are UTF-16 units here; Python's
 * are code points, which strings.ts translates.
 */

import { spend, spendText } from './budget.ts';

/** Which message a stretch of text came from, counted from 0; -1 for the description of a tool. */
export interface Origin {
  readonly message: number;
  /** Whether it comes from outside, neither from the job nor from the policy. */
  readonly outside: boolean;
}

/** A stretch of text with one origin; null is the template's own. */
export interface Run {
  readonly text: string;
  readonly origin: Origin | null;
}

export class Text {
  readonly runs: readonly Run[];
  /** The whole text. */
  readonly text: string;
  /** Whether it is what Jinja calls markup: `+` escapes anything added to it. */
  readonly safe: boolean;

  constructor(runs: readonly Run[], safe = false) {
    this.runs = runs;
    this.safe = safe;
    this.text = runs.length === 1 && runs[0] !== undefined ? runs[0].text : joined(runs);
  }
}

export type Str = string | Text;

/** Joined with `+`, for which V8 copies nothing until the text is read. */
function joined(runs: readonly Run[]): string {
  let all = '';
  for (const { text } of runs) all += text;
  return all;
}

export function isStr(value: unknown): value is Str {
  return typeof value === 'string' || value instanceof Text;
}

export function plain(value: Str): string {
  return typeof value === 'string' ? value : value.text;
}

export function runsOf(value: Str): readonly Run[] {
  return typeof value === 'string' ? [{ text: value, origin: null }] : value.runs;
}

/** `text` from a message. */
export function from(text: string, origin: Origin | null): Str {
  return origin === null || text === '' ? text : new Text([{ text, origin }]);
}

/** One text made of many, joining neighbours with the same origin. */
export function concat(parts: readonly Str[]): Str {
  spend(parts.length);
  let length = 0;
  let isPlain = true;
  for (const part of parts) {
    length += plain(part).length;
    isPlain &&= typeof part === 'string';
  }
  spendText(length);
  if (isPlain) return parts.join('');
  const runs: { text: string; origin: Origin | null }[] = [];
  for (const part of parts)
    for (const { text, origin } of runsOf(part)) {
      if (text === '') continue;
      const last = runs.at(-1);
      if (last !== undefined && last.origin === origin) last.text += text;
      else runs.push({ text, origin });
    }
  if (runs.every(({ origin }) => origin === null)) return joined(runs);
  return new Text(runs);
}

/** The UTF-16 units from `start` up to `end`. */
export function cut(value: Str, start: number, end: number = plain(value).length): Str {
  if (typeof value === 'string') return value.slice(start, end);
  if (start <= 0 && end >= value.text.length) return value.safe ? new Text(value.runs) : value;
  const runs: Run[] = [];
  let at = 0;
  spend(value.runs.length);
  for (const { text, origin } of value.runs) {
    const piece = text.slice(Math.max(0, start - at), Math.max(0, end - at));
    if (piece !== '') runs.push({ text: piece, origin });
    at += text.length;
  }
  return runs.length === 0 ? '' : new Text(runs);
}

/**
 * Applies `change` to each stretch separately if that gives the same result. If not, the whole gets the
 * origin of one of its parts, preferably one from outside.
 */
export function changed(value: Str, change: (text: string) => string): Str {
  if (typeof value === 'string') return change(value);
  const whole = change(value.text);
  const runs = value.runs.map(({ text, origin }) => ({ text: change(text), origin }));
  if (joined(runs) === whole) return concat(runs.map(({ text, origin }) => from(text, origin)));
  return from(whole, originOf([value]));
}

/** The one origin for a text made of all these. */
export function originOf(values: readonly Str[]): Origin | null {
  const origins = values.flatMap((value) => runsOf(value).map(({ origin }) => origin));
  return origins.find((origin) => origin?.outside) ?? origins.find((origin) => origin) ?? null;
}

/** The same text as markup. */
export function asSafe(value: Str): Text {
  return new Text(runsOf(value), true);
}

export function isSafe(value: unknown): boolean {
  return value instanceof Text && value.safe;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
};

/** Text as markup, its special characters escaped. */
export function escaped(value: Str): Str {
  if (isSafe(value)) return value;
  return asSafe(changed(value, (text) => text.replace(/[&<>'"]/g, (one) => ENTITIES[one] ?? one)));
}
