/** Questions whose prompts are too long for the context become dead letters before anything is rolled out. */
import { MillraceError } from '../../base/errors.ts';
import type { QuestionItem } from '../../sources/questions.ts';
import type { QuestionItems } from '../plan.ts';

/** What prompts are measured with, and how long one may be (in tokens). */
export interface PromptLimit {
  readonly prompt: (question: string) => Int32Array;
  readonly promptMax: number;
}

/** Fails with code `USAGE` when no question can fit, because the prompt around it is too long already. */
export function checkPromptFits({ prompt, promptMax }: PromptLimit): void {
  const around = prompt('').length;
  if (around < promptMax) return;
  throw new MillraceError(
    'USAGE',
    `the prompt around a question (system prompt and chat template) takes ${around} tokens, and promptMax is ${promptMax}: raise promptMax, or give a shorter system prompt`,
  );
}

/** What is wrong with a question whose prompt is too long; null = nothing. */
export function promptFault(
  question: string,
  { prompt, promptMax }: PromptLimit,
): { readonly field: string; readonly reason: string } | null {
  const tokens = prompt(question).length;
  if (tokens <= promptMax) return null;
  return {
    field: 'question',
    reason: `its prompt has ${tokens} tokens, and promptMax is ${promptMax}`,
  };
}

/** The items of a file, in their order; `origin` = the file as a dead letter names it. */
export async function* withinPrompt(
  items: QuestionItems,
  origin: string,
  limit: PromptLimit,
): AsyncGenerator<QuestionItem> {
  let place = 0;
  for await (const item of items) {
    place++;
    if (!('value' in item)) {
      yield item;
      continue;
    }
    const { id, question } = item.value;
    const fault = promptFault(question, limit);
    if (fault === null) yield item;
    else yield { deadLetter: { origin, place, key: id, ...fault, payload: question } };
  }
}
