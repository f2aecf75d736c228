/**
 * Regular expressions of well-known tokenizers, which run in linear time. Any other in a `tokenizer.json` may
 * take forever on a short text, and runs under a deadline.
 */

/** GPT-2's pattern, for the white space that Rust's regular expressions have. */
export const GPT2 =
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/** That of Llama 3 and Qwen; digits by themselves or by threes. */
const llama = (digits: string): string =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

/** Digits by themselves. */
export const QWEN2 = llama('\\p{N}');
export const LLAMA3 = llama('\\p{N}{1,3}');

const known: ReadonlySet<string> = new Set([
  GPT2,
  QWEN2,
  LLAMA3,
  llama('\\p{N}{1,2}'),
  // DeepSeek, StarCoder and others cut with several small ones
  ...[
    '\\p{N}',
    '\\p{N}{1,3}',
    '\\d',
    '[0-9]',
    '[0-9][0-9][0-9]',
    '[\\r\\n]',
    '\\s?\\p{L}+',
    '\\s?\\p{P}+',
    '\\s+',
    ' ',
  ],
]);

/** How to run a part of a `tokenizer.json`. */
export type Trust =
  /** Every regular expression in it is known. */
  | 'known'
  | 'unknown'
  /** It has more parts, or a longer expression, than any tokenizer. */
  | 'too large';

const PATTERN_CHARACTERS_MAX = 5_000;
const PARTS_MAX = 1_000;

/** Checks all parts of `json`, however deep. */
export function trustIn(json: unknown): Trust {
  const left: unknown[] = [json];
  let parts = 0;
  let trust: Trust = 'known';
  for (let part = left.pop(); part !== undefined; part = left.pop()) {
    if (typeof part !== 'object' || part === null) continue;
    if (++parts > PARTS_MAX) return 'too large';
    const { Regex: pattern } = part as { readonly Regex?: unknown };
    if (typeof pattern === 'string' && !known.has(pattern)) {
      if (pattern.length > PATTERN_CHARACTERS_MAX) return 'too large';
      trust = 'unknown';
    }
    for (const inner of Object.values(part)) if (typeof inner === 'object') left.push(inner);
  }
  return trust;
}
