/**
 * A given conversation as sequences to train on: the model's own chat template writes it, the answers are the
 * targets.
 *
 * An answer's tokens are those that the policy would have generated: the text from where the template opens
 * an answer (its generation prompt) to the token that ends it, encoded by itself. What users and tools say
 * makes no tags and is never a target, unless the setting says so; `<result>` blocks in an answer's text are
 * not targets either.
 *
 * Some templates write an old answer differently from a new one (Qwen3 leaves out its thinking). Such an
 * answer is never trained on as a part of the history: it gets a sequence of its own, which ends with it. So
 * there are as few sequences as the template allows, one for most, and every answer is learnt once, after
 * what the policy would have been given.
 */
import type { Tokenizer, TrainSequence } from '../../model/index.ts';
import type { ChatTurn } from '../../topics/index.ts';
import type { ResultTokens } from './encodeExample.ts';
import { resultTokens } from './resultBlock.ts';
import { blocks } from './tags.ts';
import { type Piece, trainSequence } from './trainSequence.ts';

/** Which turns are learnt: all answers, only the last one, or every token of the conversation. */
export type Learnt = 'answers' | 'last' | 'all';

/** A stretch of a rendered conversation; without `tags` it is from outside and makes none. */
interface TextPart {
  readonly text: string;
  readonly tags: boolean;
}

interface ChatMessage {
  readonly role: string;
  readonly content: string;
  readonly [field: string]: unknown;
}

interface ChatOptions {
  readonly addGenerationPrompt?: boolean;
  readonly tools?: readonly unknown[];
}

/** A tokenizer with a chat template: what `loadTokenizer` gives for a checkpoint's folder. */
export interface ChatTokenizer extends Tokenizer {
  readonly endTokens: readonly number[];
  applyChatTemplate(messages: readonly ChatMessage[], options?: ChatOptions): string;
  chatParts(messages: readonly ChatMessage[], options?: ChatOptions): readonly TextPart[];
  encodeParts(parts: readonly TextPart[]): Int32Array;
}

export interface ConversationOptions {
  readonly tokenizer: ChatTokenizer;
  /**
   * `masked`: result blocks in answers are read, in the form that rollouts give them; `trained`: answers stay
   * as they are.
   */
  readonly results: ResultTokens;
  readonly learn: Learnt;
  /**
   * Whether white space that the template writes after the end of an answer is learnt with it: the policy is
   * never asked for it, LLaMA-Factory trains on it.
   */
  readonly afterEnd: 'masked' | 'trained';
}

/**
 * `functions` = JSON list of function schemas, or ''. At least one sequence, each with a target. Throws
 * `CHAT_TEMPLATE` if the template refuses the conversation, has no place for an answer, or rewrites what
 * users and tools say.
 */
export function encodeConversation(
  turns: readonly ChatTurn[],
  functions: string,
  options: ConversationOptions,
): TrainSequence[] {
  const messages = turns.map(messageOf);
  const chat: ChatOptions = functions === '' ? {} : { tools: functionsOf(functions) };
  const answers = [...turns.keys()].filter((place) => turns[place]?.learnt);
  let left = options.learn === 'last' ? answers.slice(-1) : answers;
  const sequences: TrainSequence[] = [];
  for (let last = left.at(-1); last !== undefined; last = left.at(-1)) {
    const parts = options.tokenizer.chatParts(messages.slice(0, last + 1), chat);
    const whole = parts.map(({ text }) => text).join('');
    const spans = new Map<number, Span>();
    for (const place of left) {
      const span = spanOf(messages, place, { chat, whole, last, options });
      if (span !== null) spans.set(place, span);
    }
    sequences.push(sequenceOf(parts, [...spans.values()], options));
    left = left.filter((place) => !spans.has(place));
  }
  return sequences.reverse();
}

/** A turn in the form that chat templates read. */
function messageOf({ role, text, thinking, calls, name, callId }: ChatTurn): ChatMessage {
  return {
    role,
    content: text,
    ...(thinking === '' ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ name: called, arguments: given, id }) => ({
            ...(id === '' ? {} : { id }),
            type: 'function',
            function: { name: called, arguments: parsedOr(given) },
          })),
        }),
    ...(name === '' ? {} : { name }),
    ...(callId === '' ? {} : { tool_call_id: callId }),
  };
}

/** Templates take arguments as an object; anything that is not JSON stays text. */
function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Bare functions are wrapped, as templates expect them. */
function functionsOf(functions: string): readonly unknown[] {
  return (JSON.parse(functions) as readonly unknown[]).map((one) =>
    typeof one === 'object' && one !== null && 'type' in one && 'function' in one
      ? one
      : { type: 'function', function: one },
  );
}

/** An answer's characters in the rendering; `end` is exclusive. */
interface Span {
  readonly start: number;
  readonly end: number;
}

interface Rendered {
  readonly chat: ChatOptions;
  /** The conversation up to and including the answer at `last`. */
  readonly whole: string;
  readonly last: number;
  readonly options: ConversationOptions;
}

/** Null if the template writes this answer differently once more turns follow. */
function spanOf(
  messages: readonly ChatMessage[],
  place: number,
  { chat, whole, last, options }: Rendered,
): Span | null {
  const { tokenizer } = options;
  const render = (until: number, more: ChatOptions = {}) =>
    tokenizer.applyChatTemplate(messages.slice(0, until), { ...chat, ...more });
  const written = place === last ? whole : render(place + 1);
  if (!whole.startsWith(written)) return null;
  const opened = render(place, { addGenerationPrompt: true });
  if (written.startsWith(opened)) return { start: opened.length, end: written.length };
  // a generation prompt may open thinking that this answer does not have
  const start = commonLength(opened, written);
  const before = render(place).length;
  return { start: Math.max(start, Math.min(before, written.length)), end: written.length };
}

function commonLength(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}

function sequenceOf(
  parts: readonly TextPart[],
  spans: readonly Span[],
  options: ConversationOptions,
): TrainSequence {
  const { tokenizer, learn } = options;
  const other = learn === 'all' ? 1 : 0;
  const pieces: Piece[] = [];
  const add = (from: number, to: number, target: 0 | 1): void => {
    if (to > from) pieces.push({ tokens: tokenizer.encodeParts(slice(parts, from, to)), target });
  };
  let from = 0;
  const end = parts.reduce((sum, { text }) => sum + text.length, 0);
  for (const span of spans) {
    add(from, span.start, other);
    const text = textOf(slice(parts, span.start, span.end));
    const own = options.afterEnd === 'trained' ? text.length : ownLength(text, options);
    from = span.start + own;
    if (options.results === 'masked' && learn !== 'all') {
      pieces.push(...answerPieces(text.slice(0, own), options));
    } else add(span.start, from, 1);
  }
  add(from, end, other);
  return joined(pieces);
}

/** An answer up to the token that ends it. */
function ownLength(text: string, { tokenizer }: ConversationOptions): number {
  const kept = text.trimEnd();
  const ends = tokenizer.endTokens.map((token) => tokenizer.decode([token]));
  return ends.some((end) => end !== '' && kept.endsWith(end)) ? kept.length : text.length;
}

/** An answer's text between its results, and the results as a rollout has them. */
function answerPieces(text: string, { tokenizer }: ConversationOptions): Piece[] {
  const pieces: Piece[] = [];
  const own = (from: number, to: number): void => {
    const written = text.slice(from, to);
    if (written !== '') pieces.push({ tokens: tokenizer.encode(written), target: 1 });
  };
  let from = 0;
  for (const { inner, start, end } of blocks(text, 'result')) {
    own(from, text[start - 1] === ' ' ? start - 1 : start);
    const content = inner.replace(/^\n/, '').replace(/\n$/, '');
    pieces.push({ tokens: resultTokens(tokenizer, content), target: 0 });
    from = end;
  }
  own(from, text.length);
  return pieces;
}

function joined(pieces: readonly Piece[]): TrainSequence {
  const sequence = trainSequence(pieces);
  // nothing comes before the first token, so nothing can have said it
  if (sequence.mask.length > 0) sequence.mask[0] = 0;
  return sequence;
}

/** The characters [from, to) of these stretches. */
function slice(parts: readonly TextPart[], from: number, to: number): TextPart[] {
  const cut: TextPart[] = [];
  let at = 0;
  for (const { text, tags } of parts) {
    const piece = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (piece !== '') cut.push({ text: piece, tags });
    at += text.length;
  }
  return cut;
}

function textOf(parts: readonly TextPart[]): string {
  return parts.map(({ text }) => text).join('');
}
