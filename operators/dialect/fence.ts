/**
 * The fence: text from outside (a tool's output, a page, a server's reply) so written that it cannot open or
 * close a tag of a trajectory, or a message of a chat.
 *
 * A mark is a text to which some reader gives a meaning: the tags of a trajectory and of the job's tools, the
 * special tokens of a tokenizer, the markers by which well-known chat templates say who speaks. A space after
 * its first character breaks a mark: `</result>` becomes `< /result>`. For every text:
 * - fenced, it has no mark in it;
 * - without a mark in it, it comes back as it is (HTML, generics, comparisons), so fencing twice is fencing
 *   once;
 * - between the tags of a result it makes no mark with them.
 *
 * Marks are recognised by their exact characters, as all readers here do: `<Result>` and `<result >` are not
 * marks. What a text says in plain words is not changed: it can still persuade its reader.
 */
import { literal } from '../../base/text/index.ts';

/** Breaks every mark in a text. */
export type Fence = (text: string) => string;

/**
 * What a fence breaks besides the tags `think`, `result` and `answer` and the markers of well-known chat
 * templates.
 */
export interface FenceMarks {
  /** The tags of the job's tools. */
  readonly tools: readonly string[];
  /**
   * Further marks, such as the special tokens of a tokenizer. Marks of a single character cannot be broken,
   * so they are left out, as are blank ones.
   */
  readonly markers?: readonly string[];
}

const TAGS = ['think', 'result', 'answer'];

/** Patterns of markers that rarely occur in text not meant as one. */
const CHAT = [
  // ChatML, Llama 3, Phi, gpt-oss: <|im_start|>, <|eot_id|>; DeepSeek with wide bars
  String.raw`<\|[^\s<>|]{1,64}\|>`,
  '<｜[^\\s<>｜]{1,64}｜>',
  // Gemma
  '</?(?:start|end)_of_turn>',
  // Hermes and Qwen: how a model calls, and reads what came of it
  '</?tool_(?:call|response)>',
  '</?tools>',
  // Llama 2 and Mistral
  String.raw`\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\]`,
  '<</?SYS>>',
];

/** A fence against these marks; make it once, for its pattern is compiled here. */
export function fenceFor({ tools, markers = [] }: FenceMarks): Fence {
  const tags = [...TAGS, ...tools].map(literal).join('|');
  const special = markers.filter((marker) => marker.trim() !== '' && [...marker].length > 1);
  return breaking([`</?(?:${tags})>`, ...CHAT, ...special.map(literal)]);
}

/** In a single pass; where fences differ from call to call, `fenceFor` is faster. */
export function fence(text: string, marks: FenceMarks): string {
  return fenceFor(marks)(text);
}

/** Breaks chat markers alone: for prompts that show a trajectory with its tags to a model on a server. */
export const chatFence: Fence = breaking(CHAT);

/**
 * Breaks chat markers, and the tags in which a judge thinks and gives its verdict: for what a judge is shown.
 */
export const judgeFence: Fence = breaking(['</?(?:judgment|think)>', ...CHAT], 'i');

/**
 * The policy's own words in a trajectory: only a tool's result opens with `<result>`, so the policy's is
 * broken. What it made up is thinking, whatever reads it; a `</result>` of its own closes nothing, for
 * results hold none.
 */
export const ownWords: Fence = breaking(['<result>']);

/**
 * What another model writes into a trajectory: it may have the tags of a step, not those of a result or a
 * chat.
 */
export const stepFence: Fence = breaking(['</?result>', ...CHAT]);

/** Puts a space after the first character of every match, until there is none. */
function breaking(patterns: readonly string[], flags = ''): Fence {
  const mark = new RegExp(`(?=${patterns.join('|')})([\\s\\S])`, `gu${flags}`);
  return (text) => {
    let broken = text;
    let before: string;
    do {
      before = broken;
      broken = before.replace(mark, '$1 ');
      // Inserting a space may create another marker.
    } while (broken !== before);
    return broken;
  };
}
