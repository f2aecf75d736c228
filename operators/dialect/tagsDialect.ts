/**
 * The papers' dialect: `<think>…</think>`, a call in its tool's tag, ` <result>\n…\n</result>` after it, and
 * `<answer>… \boxed{…} …</answer>` at the end. A response is its own trajectory.
 *
 * A tag may be one token or many. If the closing tag of a tool is a token of its own (one that ordinary
 * text never makes), the call ends at that token; if it is not, at the token that completes its text. What
 * follows the tag in that token is the policy's, and is kept and learnt like all that it sampled; the
 * call is what precedes it.
 */
import type { Tokenizer } from '../../model/index.ts';
import { lastCallInput } from './calls.ts';
import { type Dialect, endTokens, type Part } from './dialect.ts';
import { encodeExample } from './encodeExample.ts';
import { encodeTrajectory } from './encodeTrajectory.ts';
import { type Fence, fenceFor, ownWords } from './fence.ts';
import { formatFault } from './format.ts';
import { RESULT_CLOSE, RESULT_OPEN, resultTokens } from './resultBlock.ts';
import { tagToken } from './tagToken.ts';

/** What the tags dialect is built from. */
export interface TagsDialectOptions {
  readonly tokenizer: Tokenizer;
  /** Names of the tools: their tags. */
  readonly tools: readonly string[];
  /** The chat template: question text to prompt tokens. */
  readonly prompt: (question: string) => Int32Array;
}

/** The tags of the papers over any tokenizer. */
export function tagsDialect({ tokenizer, tools, prompt }: TagsDialectOptions): Dialect {
  const closing = new Map(
    tools.flatMap((tool): [number, string][] => {
      const token = tagToken(tokenizer, closeTag(tool));
      return token === null ? [] : [[token, tool]];
    }),
  );
  const fence = fenceFor({ tools, markers: tokenizer.markers ?? [] });
  const single = [...closing.values()];
  const spelt = tools.filter((tool) => !single.includes(tool));
  return {
    name: 'tags',
    tokenizer,
    tools,
    stopTokens: [...endTokens(tokenizer), ...closing.keys()],
    stopTexts: spelt.map(closeTag),
    prompt,
    turn(turns, { token, text }) {
      const own = turns.at(-1) ?? '';
      const tool = text === null ? closing.get(token) : spelt.find((one) => closeTag(one) === text);
      if (tool === undefined) {
        return turns.some((turn) => turn.includes('</answer>')) ? 'answer' : 'stop';
      }
      const call = text === null ? own : own.slice(0, own.indexOf(text) + text.length);
      return { calls: [{ tool, input: lastCallInput(call, tool) }] };
    },
    results: (outputs) =>
      Int32Array.from(outputs.flatMap((output) => [...resultTokens(tokenizer, fence(output))])),
    read: (parts) => parts.map((part) => readPart(part, fence)).join(''),
    formatFault: (trajectory, variant) => formatFault(trajectory, variant, tools),
    continuation: (trajectory) => encodeTrajectory(tokenizer, trajectory),
    encodeExample: (question, trajectory, results) =>
      encodeExample(question, trajectory, { prompt, tokenizer, results }),
  };
}

function closeTag(tool: string): string {
  return `</${tool}>`;
}

/**
 * The tags of a result block are ours, its content is not, and the policy cannot write one. The block may be
 * cut off.
 */
function readPart({ author, text }: Part, fence: Fence): string {
  if (author === 'policy') return ownWords(text);
  if (!text.startsWith(RESULT_OPEN)) return fence(text);
  const closed =
    text.endsWith(RESULT_CLOSE) && text.length >= RESULT_OPEN.length + RESULT_CLOSE.length;
  const output = text.slice(RESULT_OPEN.length, closed ? -RESULT_CLOSE.length : undefined);
  return `${RESULT_OPEN}${fence(output)}${closed ? RESULT_CLOSE : ''}`;
}
