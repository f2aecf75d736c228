/**
 * The model's own function calling, through its chat template: tools as JSON schemas, calls as JSON, results
 * in messages of role `tool`. A turn may hold several calls; they are run in order.
 *
 * A response becomes a trajectory in the papers' tags, which everything that reads responses knows: thinking
 * stays as it is, each call is in its tool's tag with its result after it, and what the last turn says is the
 * answer. The policy's own words stay; tags in them that are not its thinking are broken, since here they
 * mean nothing.
 *
 * A call that cannot be made (not JSON, no such tool, a missing argument) appears as
 * `<tool_call>…</tool_call>` and is a fault of form. `faults` says what else happens: `answered` = the policy
 * reads what is wrong and goes on, `ends` = the rollout ends.
 */

import type { TrainSequence } from '../../../model/index.ts';
import type { CallFaults } from '../callFaults.ts';
import { type Dialect, type DialectCall, endTokens, type Part } from '../dialect.ts';
import type { ResultTokens } from '../encodeExample.ts';
import { chatFence, fenceFor } from '../fence.ts';
import { type FormatFault, formatFault } from '../format.ts';
import { RESULT_CLOSE, RESULT_OPEN } from '../resultBlock.ts';
import { trainSequence } from '../trainSequence.ts';
import type { ChatSegment, NativeChat } from './chat.ts';
import { type NativeForm, piecesOf } from './forms/forms.ts';
import type { ToolSpec } from './toolCalls.ts';
import { turnsOf } from './trajectory.ts';

/** What the native dialect is built from. */
export interface NativeDialectOptions {
  readonly chat: NativeChat;
  readonly tools: readonly ToolSpec[];
  readonly form: NativeForm;
  /** `answered` if left out. */
  readonly faults?: CallFaults;
}

/** Function calling in one of the known forms. */
export function nativeDialect(options: NativeDialectOptions): Dialect {
  const { chat, tools, form, faults = 'answered' } = options;
  const { tokenizer } = chat;
  const names = tools.map(({ name }) => name);
  const fence = fenceFor({ tools: names, markers: tokenizer.markers ?? [] });
  const strange = new RegExp(`<(?=/?(?:result|${names.join('|')})>)`, 'g');
  const words = (text: string): string => text.replace(strange, '< ');
  const opened = /<think>(?![\s\S]*<\/think>)/.test(chat.opening);

  /** A turn's thinking as text, and what follows in pieces. */
  const taken = (turn: string) => {
    const end = thinkingEnd(turn, opened);
    return { thinking: turn.slice(0, end), pieces: piecesOf(turn.slice(end), form, tools) };
  };
  const callsIn = (turn: string): readonly DialectCall[] =>
    taken(turn).pieces.flatMap(({ call }) => (call === null ? [] : [call]));

  const readTurn = (turn: string, ended: boolean, outputs: readonly string[]): string => {
    const { thinking, pieces } = taken(turn);
    const thought = `${opened && !thinking.includes('<think>') ? '<think>' : ''}${words(thinking)}`;
    if (pieces.every(({ call }) => call === null)) {
      const said = pieces.map(({ text }) => text).join('');
      return `${thought}${ended ? answered(words(said)) : words(said)}`;
    }
    let next = 0;
    const written = pieces.map(({ text, call }) => {
      if (call === null) return words(text);
      const output = outputs[next++];
      const result = output === undefined ? '' : `${RESULT_OPEN}${fence(output)}${RESULT_CLOSE}`;
      return `${calledText(call, text)}${result}`;
    });
    return `${thought}${written.join('')}`;
  };
  const calledText = (call: DialectCall, text: string): string =>
    call.fault === undefined
      ? `<${call.tool}>${fence(call.input)}</${call.tool}>`
      : `<tool_call>${words(text).replaceAll(/<\/?tool_call>/g, '')}</tool_call>`;

  const frames = new Map<number, Frame>();
  const frameOf = (results: number): Frame => {
    const known = frames.get(results) ?? frameFrom(chat, results);
    frames.set(results, known);
    return known;
  };

  const read = (parts: readonly Part[]): string => {
    const texts = parts.map(({ author, text, ended = false }, i) => {
      const after = parts[i + 1];
      if (author === 'tool') return '';
      const calls = after?.author === 'tool' ? callsIn(text).length : 0;
      const outputs = calls === 0 ? [] : outputsIn(after!.text, frameOf(calls));
      return readTurn(text, ended, outputs);
    });
    return texts.join('');
  };

  return {
    name: 'native',
    tokenizer,
    tools: names,
    notes: chat.notes,
    stopTokens: endTokens(tokenizer),
    stopTexts: [],
    prompt: (question) => chat.prompt(chatFence(question)),
    turn(turns) {
      const own = turns.at(-1) ?? '';
      const calls = callsIn(own);
      if (calls.length === 0) {
        const { pieces } = taken(own);
        return pieces.some(({ text }) => text.trim() !== '') ? 'answer' : 'stop';
      }
      const isFaulty = calls.some((call) => call.fault !== undefined);
      return isFaulty && faults === 'ends' ? 'stop' : { calls };
    },
    results: (outputs) => chat.results(outputs.map(fence)),
    read,
    formatFault: (trajectory, variant) => nativeFault(trajectory, variant, names),
    continuation(trajectory) {
      const { turns, rest } = turnsOf(trajectory, names);
      const segments = chat.conversation('', fenced(turns, fence), turns.length > 0);
      const tokens = segments.flatMap((segment) =>
        segment.author === 'prompt' ? [] : [...segment.tokens],
      );
      return Int32Array.from([...tokens, ...tokenizer.encode(chatFence(rest))]);
    },
    piece(before, own, ended) {
      const { rest } = turnsOf(before, names);
      const whole = readTurn(rest + own, ended, []);
      return whole.startsWith(rest) ? whole.slice(rest.length) : readTurn(own, ended, []);
    },
    encodeExample(question, trajectory, results) {
      const { turns, rest } = turnsOf(trajectory, names);
      const asked = chatFence(question);
      const open = rest !== '' && turns.length > 0;
      const segments = chat.conversation(asked, fenced(turns, fence), open);
      const more: ChatSegment = { author: 'policy', tokens: tokenizer.encode(chatFence(rest)) };
      return sequenceOf(rest === '' ? segments : [...segments, more], results);
    },
  };
}

function fenced(
  turns: ReturnType<typeof turnsOf>['turns'],
  fence: (text: string) => string,
): ReturnType<typeof turnsOf>['turns'] {
  return turns.map((turn) => ({
    ...turn,
    // A call that could not be made is learnt as it was written.
    content: turn.content.includes('<tool_call>') ? turn.content : chatFence(turn.content),
    thinking: turn.thinking === null ? null : chatFence(turn.thinking),
    outputs: turn.outputs.map(fence),
  }));
}

/** What the last turn says as an answer; an answer already in tags stays. */
function answered(said: string): string {
  if (said.includes('<answer>') || said.trim() === '') return said;
  const lead = /^\s*/.exec(said)![0];
  return `${lead}<answer>${said.trim()}</answer>`;
}

/**
 * The first fault of a trajectory of this dialect: a call that could not be made, or a fault found by
 * `formatFault`, except that a response need not think.
 */
function nativeFault(
  trajectory: string,
  variant: Parameters<Dialect['formatFault']>[1],
  tools: readonly string[],
): FormatFault | null {
  if (/<\/?tool_call>/.test(trajectory)) return 'malformed-call';
  const thinks = trajectory.trimStart().startsWith('<think>');
  return formatFault(thinks ? trajectory : `<think></think>${trajectory}`, variant, tools);
}

/** Where thinking ends: after its first closing tag, or with the turn; 0 if there is none. */
function thinkingEnd(turn: string, opened: boolean): number {
  if (!opened && !turn.trimStart().startsWith('<think>')) return 0;
  const close = turn.indexOf('</think>');
  return close < 0 ? turn.length : close + '</think>'.length;
}

/** What a template writes before, between and after results; `quoted` = as JSON texts. */
interface Frame {
  readonly texts: readonly string[];
  readonly quoted: boolean;
}

function frameFrom(chat: NativeChat, results: number): Frame {
  const mark = (i: number): string => `qvxzkj${i}"k`;
  const tokens = chat.results(Array.from({ length: results }, (_, i) => mark(i)));
  const text = chat.tokenizer.decode(tokens);
  const quoted = !text.includes(mark(0)) && text.includes('qvxzkj0\\"k');
  const texts: string[] = [];
  let from = 0;
  for (let i = 0; i < results; i++) {
    const written = quoted ? mark(i).replace('"', '\\"') : mark(i);
    const at = text.indexOf(written, from);
    texts.push(text.slice(from, Math.max(from, at)));
    from = at < 0 ? from : at + written.length;
  }
  return { texts: [...texts, text.slice(from)], quoted };
}

/** The outputs in the text after a turn; the last ones may be cut off or missing. */
function outputsIn(text: string, { texts, quoted }: Frame): string[] {
  const [first = '', ...others] = texts;
  if (!text.startsWith(first)) return [];
  const outputs: string[] = [];
  let rest = text.slice(first.length);
  for (const [i, next] of others.entries()) {
    const last = i === others.length - 1;
    const at = last ? (rest.endsWith(next) ? rest.length - next.length : -1) : rest.indexOf(next);
    const output = at < 0 ? rest : rest.slice(0, at);
    outputs.push(quoted ? unquoted(output) : output);
    if (at < 0) break;
    rest = rest.slice(at + next.length);
  }
  return outputs;
}

function unquoted(output: string): string {
  try {
    return JSON.parse(`"${output}"`) as string;
  } catch {
    return output;
  }
}

/** What the policy wrote is learnt, the prompt is not, results by choice. */
function sequenceOf(segments: readonly ChatSegment[], results: ResultTokens): TrainSequence {
  const isLearnt = (author: ChatSegment['author']): boolean =>
    author === 'policy' || (author === 'tool' && results === 'trained');
  return trainSequence(
    segments.map(({ author, tokens }) => ({ tokens, target: isLearnt(author) ? 1 : 0 })),
  );
}
