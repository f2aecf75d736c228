/** A rendered conversation cut where the policy's turns begin and end, so that each token has an owner. */
import { MillraceError } from '../../base/index.ts';
import type { ChatMessage, ChatOptions } from './chatTemplate.ts';
import type { ChatTokenizer } from './grownChat.ts';
import { partsOf } from './guardedParts.ts';

/** Tokens of a conversation, and whose they are. */
export interface ChatSegment {
  readonly author: 'prompt' | 'policy' | 'tool';
  readonly tokens: Int32Array;
}

type Runs = ReturnType<ChatTokenizer['chatRuns']>;

/**
 * The whole conversation in order; `opening` = what the template writes before the policy continues. Throws
 * `CHAT_TEMPLATE`.
 */
export function chatSegments(
  tokenizer: ChatTokenizer,
  messages: readonly ChatMessage[],
  options: ChatOptions,
  opening: string,
): ChatSegment[] {
  const runs = tokenizer.chatRuns(messages, options);
  const text = runs.map((run) => run.text).join('');
  const spans: { readonly start: number; readonly end: number; readonly message: number }[] = [];
  let at = 0;
  for (const { text: said, origin } of runs) {
    if (origin !== null) spans.push({ start: at, end: at + said.length, message: origin.message });
    at += said.length;
  }
  const ends = tokenizer.endTokens.map((id) => tokenizer.decode([id])).filter((end) => end !== '');
  const cuts: { readonly start: number; readonly end: number }[] = [];
  for (const [number, { role }] of messages.entries()) {
    if (role !== 'assistant') continue;
    const own = spans.filter(({ message }) => message === number);
    const from = cuts.at(-1)?.end ?? 0;
    const first = own[0]?.start ?? text.length;
    const start = openingBefore(text, opening, from, first);
    const next = spans.find(({ message }) => message > number)?.start ?? text.length;
    const last = own.findLast(({ end }) => end <= next)?.end ?? start;
    cuts.push({ start, end: endBehind(text, ends, Math.max(last, start), next) });
  }
  return segmented(tokenizer, runs, cuts, options.addGenerationPrompt === true);
}

/** After the longest beginning of `opening` that precedes a turn. */
function openingBefore(text: string, opening: string, from: number, to: number): number {
  for (let length = opening.length; length > 0; length--) {
    const at = text.slice(from, to).lastIndexOf(opening.slice(0, length));
    if (at >= 0) return from + at + length;
  }
  return to;
}

/** After the first token that ends a turn. */
function endBehind(text: string, ends: readonly string[], from: number, to: number): number {
  const found = ends
    .map((end) => ({ at: text.indexOf(end, from), length: end.length }))
    .filter(({ at }) => at >= 0 && at <= to)
    .sort((a, b) => a.at - b.at)[0];
  if (found !== undefined) return found.at + found.length;
  throw new MillraceError(
    'CHAT_TEMPLATE',
    `the chat template does not end the policy's turn with one of ${ends.map((end) => JSON.stringify(end)).join(', ')}: ` +
      'set eos_token_id in generation_config.json to the token that does',
  );
}

function segmented(
  tokenizer: ChatTokenizer,
  runs: Runs,
  cuts: readonly { readonly start: number; readonly end: number }[],
  open: boolean,
): ChatSegment[] {
  const within = (start: number, end: number): Int32Array => {
    let at = 0;
    const kept = runs.flatMap(({ text, origin }) => {
      const part = text.slice(Math.max(0, start - at), Math.max(0, end - at));
      at += text.length;
      return part === '' ? [] : [{ text: part, origin }];
    });
    return tokenizer.encodeParts(partsOf(kept));
  };
  const length = runs.reduce((sum, { text }) => sum + text.length, 0);
  const [first] = cuts;
  const segments: ChatSegment[] = [{ author: 'prompt', tokens: within(0, first?.start ?? length) }];
  for (const [i, { start, end }] of cuts.entries()) {
    segments.push({ author: 'policy', tokens: within(start, end) });
    const next = cuts[i + 1]?.start ?? length;
    // What follows the last turn belongs to no turn, unless it is a result.
    const tokens = within(end, next);
    const isLast = i === cuts.length - 1;
    const answered = runsBehind(runs, end).some(({ origin }) => origin !== null);
    if (tokens.length > 0 && (!isLast || open || answered)) {
      segments.push({ author: 'tool', tokens });
    }
  }
  return segments;
}

function runsBehind(runs: Runs, position: number): Runs {
  let at = 0;
  return runs.filter(({ text }) => {
    at += text.length;
    return at > position;
  });
}
