/**
 * A conversation that grows call by call, token by token: what follows the policy's own tokens when a
 * tool has answered, and whether the result is what the template makes of the whole.
 *
 * The policy's tokens are never re-tokenised. If a template would write an earlier turn differently (old
 * thinking left out, arguments of a call quoted in its own way), they stay as they are, and `chatDifference`
 * says where that is and how.
 */
import { MillraceError } from '../../base/index.ts';
import type { Run } from '../../jinja/index.ts';
import type { Tokenizer } from '../engine.ts';
import type { LoadedTokenizer } from '../tokenizers/loadedTokenizer.ts';
import type { ChatMessage, ChatOptions, ChatToolCall } from './chatTemplate.ts';
import { partsOf } from './guardedParts.ts';

/** What growing needs from a loaded tokenizer. */
export type ChatTokenizer = Tokenizer &
  Pick<
    LoadedTokenizer,
    'applyChatTemplate' | 'chatRuns' | 'encodeChat' | 'encodeParts' | 'endTokens'
  >;

/** As for a whole rendering, and how the policy's turn ended. */
export interface GrowOptions extends ChatOptions {
  /**
   * Whether the policy's own tokens end with one that ends its turn; where not, the template's is put first.
   */
  readonly turnEnded: boolean;
}

/**
 * The tokens that follow the policy's own: what the template writes after its turn, the `added` messages,
 * and, unless `addGenerationPrompt` is false, what opens the next turn. `before` ends with the policy's
 * message as it was understood (its text or its calls). What `added` say gives no tags. Throws
 * `CHAT_TEMPLATE` if the template does not take the messages or does not end the policy's turn.
 */
export function growChat(
  tokenizer: ChatTokenizer,
  before: readonly ChatMessage[],
  added: readonly ChatMessage[],
  { turnEnded, addGenerationPrompt = true, ...options }: GrowOptions,
): Int32Array {
  const messages = [...before, ...added];
  const runs = tokenizer.chatRuns(messages, { ...options, addGenerationPrompt });
  const end = endOfTurn(tokenizer, runs, before.length - 1);
  return tokenizer.encodeParts(partsOf(after(runs, turnEnded ? end.after : end.before)));
}

/** Index in a rendering of the token that ends a message's turn. */
function endOfTurn(
  tokenizer: ChatTokenizer,
  runs: readonly Run[],
  message: number,
): { readonly before: number; readonly after: number } {
  const ends = tokenizer.endTokens
    .map((token) => tokenizer.decode([token]))
    .filter((end) => end !== '');
  const next = runs.findIndex(({ origin }) => (origin?.message ?? -1) > message);
  const turn = next < 0 ? runs : runs.slice(0, next);
  const first = turn.findIndex(({ origin }) => origin?.message === message);
  const last = turn.findLastIndex(({ origin }) => origin?.message === message);
  // a template may name the call again where the tool answers, after the end of the turn
  const found =
    first < 0
      ? undefined
      : (endsIn(turn, last + 1, ends)[0] ?? endsIn(turn, first + 1, ends).at(-1));
  if (found !== undefined) return found;
  const shown = ends.map((end) => JSON.stringify(end)).join(', ');
  throw refusal(
    `the chat template does not end message ${message} with one of ${shown}, so the conversation cannot be continued ` +
      'token by token after it (is an end token missing in generation_config.json?)',
  );
}

/** The end tokens in the template's own text from a run on, in order. */
function endsIn(
  runs: readonly Run[],
  from: number,
  ends: readonly string[],
): { readonly before: number; readonly after: number }[] {
  const found: { before: number; after: number }[] = [];
  let at = lengthOf(runs.slice(0, from));
  for (const { text, origin } of runs.slice(from)) {
    for (const end of origin === null ? ends : [])
      for (let i = text.indexOf(end); i >= 0; i = text.indexOf(end, i + 1))
        found.push({ before: at + i, after: at + i + end.length });
    at += text.length;
  }
  return found.sort((a, b) => a.before - b.before || b.after - a.after);
}

const refusal = (what: string): MillraceError<'CHAT_TEMPLATE'> =>
  new MillraceError('CHAT_TEMPLATE', what);

const textOf = (runs: readonly Run[]): string => runs.map(({ text }) => text).join('');
const lengthOf = (runs: readonly Run[]): number =>
  runs.reduce((sum, { text }) => sum + text.length, 0);

/** The runs from a position of their text on. */
function after(runs: readonly Run[], position: number): readonly Run[] {
  let at = 0;
  return runs.flatMap(({ text, origin }) => {
    const kept = text.slice(Math.max(0, position - at));
    at += text.length;
    return kept === '' ? [] : [{ text: kept, origin }];
  });
}

/** Where and how a grown conversation differs from the template's. */
export interface ChatDifference {
  /** The first token that differs, counted from 0. */
  readonly token: number;
  /** The message at that place, or the next one; null after the last. */
  readonly message: number | null;
  /**
   * `tokens`: the same text in other tokens. `thinking`: the template leaves out what was thought. `left out`
   * and `put in`: other text that only one of them has. `rewritten`: both have something, and not the same
   * (arguments of a call, say).
   */
  readonly kind: 'tokens' | 'thinking' | 'left out' | 'put in' | 'rewritten';
  /** What grew there, and what the template writes; at most 80 characters of each. */
  readonly grown: string;
  readonly whole: string;
}

/** Where the grown tokens differ from the rendering of the whole conversation; null if they do not. */
export function chatDifference(
  tokenizer: ChatTokenizer,
  grown: ArrayLike<number>,
  messages: readonly ChatMessage[],
  options?: ChatOptions,
): ChatDifference | null {
  const whole = tokenizer.encodeChat(messages, options);
  const token = firstDifference(grown, whole);
  if (token === null) return null;
  const runs = tokenizer.chatRuns(messages, options);
  const [ours, theirs] = [tokenizer.decode(Array.from(grown)), textOf(runs)];
  const at = firstDifference(toUnits(ours), toUnits(theirs));
  if (at === null) {
    const [from, to] = [Math.max(0, token - 2), token + 4];
    const show = (list: ArrayLike<number>) => tokenizer.decode(Array.from(list).slice(from, to));
    return { token, message: null, kind: 'tokens', grown: show(grown), whole: show(whole) };
  }
  return { token, message: messageAt(runs, at), ...described(ours, theirs, at) };
}

function toUnits(text: string): ArrayLike<number> {
  return Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
}

function firstDifference(a: ArrayLike<number>, b: ArrayLike<number>): number | null {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return i;
  return a.length === b.length ? null : length;
}

/** The message that the text at a position comes from, or the next one after it. */
function messageAt(runs: readonly Run[], position: number): number | null {
  let at = 0;
  for (const { text, origin } of runs) {
    at += text.length;
    if (at > position && origin !== null) return origin.message < 0 ? null : origin.message;
  }
  return null;
}

const SHOWN = 80;
/** How much text must match again for a difference to end. */
const SAME = 24;

/** The difference after `at`, up to where the two texts match again. */
function described(
  grown: string,
  whole: string,
  at: number,
): Pick<ChatDifference, 'kind' | 'grown' | 'whole'> {
  const [ours, theirs] = [grown.slice(at), whole.slice(at)];
  const left = resumes(ours, theirs);
  const put = resumes(theirs, ours);
  if (left !== null && (put === null || left <= put)) {
    const piece = piecesStart(grown, at, left);
    const kind = /<\/?think(ing)?>|<\|?channel\|?>/.test(piece) ? 'thinking' : 'left out';
    return { kind, grown: piece.slice(0, SHOWN), whole: '' };
  }
  if (put !== null)
    return { kind: 'put in', grown: '', whole: piecesStart(whole, at, put).slice(0, SHOWN) };
  return { kind: 'rewritten', grown: ours.slice(0, SHOWN), whole: theirs.slice(0, SHOWN) };
}

/** A piece that one text has more, as early as it can be said to begin: `<a>b` in `<<a>b`, not `a>b<`. */
function piecesStart(text: string, at: number, length: number): string {
  let start = at;
  while (start > 0 && at - start < length && text[start - 1] === text[start + length - 1]) start--;
  return text.slice(start, start + length);
}

/** How much of `long` goes before what `short` begins with; null when that does not come. */
function resumes(long: string, short: string): number | null {
  const next = short.slice(0, SAME);
  if (next === '') return long.length;
  const at = long.indexOf(next);
  return at <= 0 ? null : at;
}

/** Texts that no template contains. */
const PROBE = 'qvxzkj7391';

/** How a template takes the arguments of a call: as an object, or as JSON text. */
export type CallArgumentsForm = 'object' | 'text';

/**
 * Check that a template shows what an agent with tools needs: the tools, the policy's calls and the tools'
 * results. Gives the form in which it takes arguments. Throws `CHAT_TEMPLATE` naming what it loses, before
 * anything runs. `tools` are JSON schemas of functions.
 */
export function checkChatTools(
  tokenizer: ChatTokenizer,
  tools: readonly { readonly function: { readonly name: string } }[],
  options: ChatOptions = {},
): CallArgumentsForm {
  const { missing, refused } = lostInTemplate(tokenizer, tools, { query: `${PROBE}a` }, options);
  if (missing.length === 0 && refused === null) return 'object';
  const asText = lostInTemplate(tokenizer, tools, `{"query": "${PROBE}a"}`, options);
  if (asText.missing.length === 0 && asText.refused === null) return 'text';
  if (refused !== null && asText.refused !== null) throw refused;
  const lost = refused === null ? missing : asText.missing;
  throw refusal(
    `the chat template leaves out ${lost.join(' and ')}: it does not support tool calls; use one that does ` +
      '(chat_template.jinja beside the tokenizer), or the dialect tags',
  );
}

function lostInTemplate(
  tokenizer: ChatTokenizer,
  tools: readonly { readonly function: { readonly name: string } }[],
  args: unknown,
  options: ChatOptions,
): { readonly missing: readonly string[]; readonly refused: unknown } {
  const call: ChatToolCall = {
    id: 'call00001',
    type: 'function',
    function: { name: `${PROBE}n`, arguments: args },
  };
  const messages: ChatMessage[] = [
    { role: 'user', content: `${PROBE}u` },
    { role: 'assistant', content: '', tool_calls: [call] },
    { role: 'tool', name: `${PROBE}n`, tool_call_id: 'call00001', content: `${PROBE}r` },
  ];
  let text = '';
  try {
    text = textOf(tokenizer.chatRuns(messages, { ...options, tools, addGenerationPrompt: true }));
  } catch (refused) {
    return { missing: [], refused };
  }
  const needed: readonly (readonly [string, string])[] = [
    ['the user’s message', `${PROBE}u`],
    ['the arguments of a call', `${PROBE}a`],
    ['the result of a tool', `${PROBE}r`],
    ...tools.map((tool) => [`the tool ${tool.function.name}`, tool.function.name] as const),
  ];
  const missing = needed.filter(([, mark]) => !text.includes(mark)).map(([what]) => what);
  return { missing, refused: null };
}
