/**
 * How a policy of one continued thought writes (DeepAgent §1.2, §1.3): the third dialect. The prompt opens a
 * thought that nothing closes; searches and calls are in it between their tags, and their results in blocks
 * of their own.
 *
 * `read` gives a trajectory in the papers' tags: thinking between `<think>` and `</think>`, the tags of
 * actions as they are, a block's text as a result, and the line with the last `\boxed{}` as the answer.
 */

import type { ToolDoc } from '../../base/functions/index.ts';
import type { Tokenizer } from '../../model/index.ts';
import { type Dialect, endTokens, type Part } from '../dialect/dialect.ts';
import { type Fence, fenceFor } from '../dialect/fence.ts';
import { RESULT_CLOSE, RESULT_OPEN } from '../dialect/resultBlock.ts';
import { tagToken } from '../dialect/tagToken.ts';
import { isBlank, strip } from '../text/characters.ts';
import type { EpisodeMode } from './episode.ts';
import { episodeFault } from './episodeFault.ts';
import type { FirstMessage } from './foldPrompt.ts';
import { actionBody, parseAction } from './parseAction.ts';
import { firstMessage, type PromptForm } from './prompts.ts';
import { CALL, deepTags, FOLD, frameOf, type Observed, SEARCH, stops } from './tags.ts';

/** What the dialect is made of. */
export interface DeepDialectOptions {
  readonly tokenizer: Tokenizer;
  /**
   * The chat template: a message to prompt tokens. The message is text from outside and makes no special
   * token.
   */
  readonly prompt: (message: string) => Int32Array;
  /** Which first message; of `closed` the tools that every question has are listed by the rollout. */
  readonly form: PromptForm;
  readonly mode: EpisodeMode;
  /**
   * Another first message than the form's, where memories belong in it; for policies that need no
   * instructions.
   */
  readonly first?: FirstMessageOf;
}

/**
 * A question, fenced, and the functions that it lists, to the first message; `form` = another one than the
 * dialect's.
 */
export type FirstMessageOf = (
  question: string,
  docs: readonly ToolDoc[],
  form?: PromptForm,
) => FirstMessage;

/** The dialect, with what an episode needs besides. */
export interface DeepDialect extends Dialect {
  readonly form: PromptForm;
  readonly first: FirstMessageOf;
  /** A whole message to the tokens that the policy goes on from, in an open thought. */
  message(text: string): Int32Array;
  /** An observation as tokens; `text` is from outside, and fenced already. */
  observed(kind: Observed, text: string): Int32Array;
  /** What the harness itself puts in. */
  own(text: string): Int32Array;
  /** Breaks every mark in a text from outside. */
  readonly fence: Fence;
}

const OPENER = '<think>\n';

/** The dialect of one continued thought. */
export function deepDialect(options: DeepDialectOptions): DeepDialect {
  const { tokenizer, form, mode } = options;
  const first: FirstMessageOf =
    options.first ?? ((question, docs, own = form) => firstMessage(own, question, docs));
  const fence = fenceFor({ tools: deepTags, markers: tokenizer.markers ?? [] });
  const message = (text: string): Int32Array => {
    const asked = options.prompt(text);
    const open = tokenizer.decode(asked.subarray(-8)).endsWith(OPENER);
    return open ? asked : Int32Array.from([...asked, ...tokenizer.encode(OPENER)]);
  };
  const closings = stops.map(([text]) => ({ text, token: tagToken(tokenizer, text) }));
  const single = closings.flatMap(({ token }) => (token === null ? [] : [token]));
  const observed = (kind: Observed, text: string): Int32Array => {
    const [open, close] = frameOf(kind);
    const inner = tokenizer.encode(text, { tags: false });
    return Int32Array.from([...tokenizer.encode(open), ...inner, ...tokenizer.encode(close)]);
  };
  const tools = [SEARCH, CALL];
  const prompt = (question: string) => message(first(fence(question), []).text);
  return {
    name: 'deep',
    form,
    first,
    tokenizer,
    tools,
    stopTokens: [...endTokens(tokenizer), ...single],
    stopTexts: closings.flatMap(({ text, token }) => (token === null ? [text] : [])),
    prompt,
    message,
    observed,
    own: (text) => tokenizer.encode(text),
    fence,
    turn(turns) {
      const own = turns.at(-1) ?? '';
      const action = parseAction(own, own, 'repaired');
      if (action === null || action.kind === 'fold') {
        return own.includes('\\boxed{') ? 'answer' : 'stop';
      }
      const tool = action.kind === 'search' ? SEARCH : CALL;
      return { calls: [{ tool, input: actionBody(own, tool, mode) ?? '' }] };
    },
    results: (outputs) =>
      Int32Array.from(outputs.flatMap((output) => [...observed('call', fence(output))])),
    read: (parts) => readParts(parts, fence),
    formatFault: episodeFault,
    continuation: (trajectory) => encoded(trajectory, tokenizer, observed, fence).tokens,
    encodeExample(question, trajectory, results) {
      const asked = prompt(question);
      const { tokens, own } = encoded(trajectory, tokenizer, observed, fence);
      const whole = Int32Array.from([...asked, ...tokens, tokenizer.endToken]);
      const mask = new Uint8Array(whole.length);
      for (const [i, mine] of own.entries()) {
        mask[asked.length + i] = mine || results === 'trained' ? 1 : 0;
      }
      mask[whole.length - 1] = 1;
      const { length } = whole;
      return {
        tokens: whole,
        mask,
        advantages: new Float32Array(length),
        oldLogProbs: new Float32Array(length),
      };
    },
  };
}

const BLOCK = new RegExp(
  `<(?:${SEARCH}_result|${CALL}_result|system_message)>([\\s\\S]*?)(?:</(?:${SEARCH}_result|${CALL}_result|system_message)>|$)([\\s\\S]*)`,
);

function readParts(parts: readonly Part[], fence: Fence): string {
  const read = parts.map(({ author, text }, i) => {
    if (author === 'tool') {
      const [, inner = text, clause = ''] = BLOCK.exec(text) ?? [];
      const said = isBlank(clause) ? inner : `${inner} ${strip(clause)}`;
      return `${RESULT_OPEN}${fence(said)}${RESULT_CLOSE}`;
    }
    return text
      .split(FOLD)
      .map((thought, j, all) => {
        const isLast = i === parts.length - 1 && j === all.length - 1;
        return isLast ? readEnd(thought, fence) : readTurn(thought, fence);
      })
      .join(FOLD);
  });
  return read.join('');
}

/** Thinking, and the action that it ends in. */
function readTurn(text: string, fence: Fence): string {
  const action = parseAction(text, text, 'repaired');
  if (action === null || action.body === null) return thought(text, fence);
  const tag = action.kind === 'search' ? SEARCH : CALL;
  const open = text.lastIndexOf(`<${tag}>`, text.lastIndexOf(`</${tag}>`));
  return `${thought(text.slice(0, open), fence)}<${tag}>${fence(action.body)}</${tag}>`;
}

/** The end of an episode: the line with the answer, and the thinking around it. */
function readEnd(text: string, fence: Fence): string {
  const boxed = text.lastIndexOf('\\boxed{');
  if (boxed < 0 || parseAction(text, text, 'repaired') !== null) return readTurn(text, fence);
  const from = text.lastIndexOf('\n', boxed) + 1;
  return `${thought(text.slice(0, from), fence)}<answer>${fence(strip(text.slice(from)))}</answer>`;
}

function thought(text: string, fence: Fence): string {
  const words = text.replaceAll('<think>', '').replaceAll('</think>', '');
  return isBlank(words) ? '' : `<think>${fence(strip(words))}</think>`;
}

/** A trajectory in the papers' tags as this policy would have written it, and which tokens are its own. */
function encoded(
  trajectory: string,
  tokenizer: Tokenizer,
  observed: DeepDialect['observed'],
  fence: Fence,
): { readonly tokens: Int32Array; readonly own: readonly boolean[] } {
  const tokens: number[] = [];
  const own: boolean[] = [];
  let search = false;
  for (const piece of trajectory.split(/( ?<result>[\s\S]*?<\/result>)/)) {
    const result = /^ ?<result>\n?([\s\S]*?)\n?<\/result>$/.exec(piece);
    const written =
      result === null
        ? tokenizer.encode(piece.replace(/<\/?(?:think|answer)>/g, ''))
        : observed(search ? 'search' : 'call', fence(result[1] ?? ''));
    search = piece.trimEnd().endsWith(`</${SEARCH}>`);
    for (const token of written) {
      tokens.push(token);
      own.push(result === null);
    }
  }
  return { tokens: Int32Array.from(tokens), own };
}
