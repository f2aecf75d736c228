/**
 * How a policy of one continued thought is prompted: the first message for each kind of task. A line that
 * opens with the anchor marks where memories go after a fold (DeepAgent §1.7, §2.4).
 */

import type { ToolDoc } from '../../base/functions/index.ts';
import type { FirstMessage } from './foldPrompt.ts';
import { pythonJson } from './pythonJson.ts';
import { CALL, FOLD, SEARCH } from './tags.ts';

/**
 * `open` = tools have to be found; `closed` = they are listed; `embodied` (a household), `shopping` and
 * `environment` (any other) = an environment to act in.
 */
export const promptForms = ['open', 'closed', 'embodied', 'shopping', 'environment'] as const;
/** One of `promptForms`. */
export type PromptForm = (typeof promptForms)[number];

const ANCHOR = 'Now begin:';

const search = `- Find tools: <${SEARCH}>what the tool should do</${SEARCH}>. Functions that fit are then shown. Example: <${SEARCH}>weather forecast of a city</${SEARCH}>`;
const call = `- Call a tool: <${CALL}>{"name": "…", "arguments": {…}}</${CALL}>. What it gives is then shown. Example: <${CALL}>{"name": "get_forecast", "arguments": {"city": "Ulm", "days": 2}}</${CALL}>`;
const fold = `- Fold your memory: ${FOLD}. What you have done is then put together in three memories, and you go on with these alone. Do so when the thought has become long, when calls keep failing, or when you want to set out in another direction.`;
const boxed = 'When you know the answer, write it in \\boxed{}.';

const kitchen = `Example: <${CALL}>{"name": "goto", "arguments": {"recep": "fridge 1"}}</${CALL}> shows what is there; <${CALL}>{"name": "take", "arguments": {"obj": "apple 1", "recep": "fridge 1"}}</${CALL}> takes it.`;
const purchase = `Example: <${CALL}>{"name": "search", "arguments": {"query": "green tea 100 bags"}}</${CALL}> shows products; <${CALL}>{"name": "click", "arguments": {"value": "Buy Now"}}</${CALL}> buys the one that is open.`;

const abilities: Readonly<Record<PromptForm, readonly string[]>> = {
  open: [
    'Solve the task by thinking and by using tools. While you think you can:',
    search,
    call,
    fold,
    boxed,
  ],
  closed: [
    'Solve the task by thinking and by using the tools that are listed. While you think you can:',
    call,
    fold,
    boxed,
  ],
  embodied: [
    'You act in a household until the task is done. While you think you can:',
    call,
    fold,
    kitchen,
  ],
  shopping: [
    'You buy in a shop what the task asks for. While you think you can:',
    call,
    fold,
    purchase,
  ],
  environment: [
    'You act in an environment, by the tools that are listed, until the task is done. While you think you can:',
    call,
    fold,
  ],
};

/** The first message of a task, and where memories go in it. `docs` = the tools listed. */
export function firstMessage(
  form: PromptForm,
  question: string,
  docs: readonly ToolDoc[],
): FirstMessage {
  const list = docs.length === 0 ? '' : `\n\nTools:\n${pythonJson(docs, 2)}`;
  const task = `Task: ${question}${list}`;
  const before = `${abilities[form].join('\n')}\n\n`;
  if (form === 'open' || form === 'closed') {
    const head = `${before}${task}\n\n`;
    return { text: `${head}${ANCHOR}`, anchor: ANCHOR, at: head.length };
  }
  return { text: `${before}${ANCHOR}\n${task}`, anchor: ANCHOR, at: before.length };
}
