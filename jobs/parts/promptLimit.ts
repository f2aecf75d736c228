/**
 * Prompts that do not fit: questions whose prompts are too long for the context become dead letters before
 * anything is rolled out; if no question fits, the job is refused.
 */
import { MillraceError } from '../../base/index.ts';
import type { PolicyEngine } from '../../model/index.ts';
import { serverWires } from '../../model/remote/wires/index.ts';
import type { Dialect } from '../../operators/dialect/index.ts';
import { hasWorld } from '../../operators/rollout/index.ts';
import type { QuestionItem } from '../../sources/index.ts';
import { checkWorld } from '../environment/index.ts';
import type { QuestionItems } from '../plan.ts';

/** What prompts are measured with, and the longest allowed (in tokens). */
export interface PromptLimit {
  readonly prompt: (question: string) => Int32Array;
  readonly promptMax: number;
}

/**
 * Fails with code `TOKENIZER` if the part common to all prompts has a token that the policy lacks, so that no
 * rollout could begin. Other tokens that it lacks, and no prompt uses, do no harm.
 */
export function checkVocabulary(
  { prompt, tokenizer }: Pick<Dialect, 'prompt' | 'tokenizer'>,
  vocabSize: number | undefined,
): void {
  const beyond = prompt('').find((token) => token >= (vocabSize ?? Number.POSITIVE_INFINITY));
  if (beyond === undefined) return;
  const text = JSON.stringify(tokenizer.decode([beyond]));
  throw new MillraceError(
    'TOKENIZER',
    `every prompt contains token ${beyond} (${text}), but the policy's vocabulary ends at ${vocabSize}: the tokenizer belongs to another model, or has added tokens. Use the policy's own, or resize its embeddings (resize_token_embeddings in transformers)`,
    { context: { token: beyond, vocabSize } },
  );
}

/** How to give each server a longer context. */
const flags = Object.values(serverWires).flatMap(({ name, contextMax }) =>
  contextMax?.flag === undefined ? [] : [`${name} ${contextMax.flag}`],
);

/** Fails with code `USAGE` if an engine allows no context in which the longest of these prompts fits. */
export function checkEngineFits(promptLength: number, { contextMax }: PolicyEngine): void {
  if (promptLength < contextMax) return;
  throw new MillraceError(
    'USAGE',
    `a prompt has ${promptLength} tokens, but the engine allows contexts of ${contextMax}: start the servers with a longer context (${flags.join(', ')}), or shorten the system prompt`,
  );
}

/** Fails with code `USAGE` if no question can fit, because the prompt around it is already too long. */
export function checkPromptFits({ prompt, promptMax }: PromptLimit): void {
  const around = prompt('').length;
  if (around < promptMax) return;
  throw new MillraceError(
    'USAGE',
    `the prompt without its question (system prompt and chat template) has ${around} tokens, but promptMax is ${promptMax}: raise promptMax, or shorten the system prompt`,
  );
}

/** For a question that is scored by its calls, in a job that scores answers. */
const UNANSWERED = {
  field: 'answers',
  reason: 'is empty, and only deep-agent and eval --episodes score calls (docs/deepagent.md)',
};

/** What is wrong with a question whose prompt is too long; null = nothing. */
export function promptFault(
  question: string,
  { prompt, promptMax }: PromptLimit,
): { readonly field: string; readonly reason: string } | null {
  const tokens = prompt(question).length;
  if (tokens <= promptMax) return null;
  return {
    field: 'question',
    reason: `makes a prompt of ${tokens} tokens, but promptMax is ${promptMax}`,
  };
}

/**
 * The items of a file, in order; `origin` = the file's name in dead letters. `episodes` = the job scores
 * calls, so a question may lack an answer; `worlds` = the job has an environment. Fails with `QUESTIONS_FILE`
 * at a question that needs one if there is none.
 */
export async function* withinPrompt(
  items: QuestionItems,
  origin: string,
  limit: PromptLimit & { readonly episodes: boolean; readonly worlds: boolean },
): AsyncGenerator<QuestionItem> {
  let place = 0;
  for await (const item of items) {
    place++;
    if (!('value' in item)) {
      yield item;
      continue;
    }
    const { id, question, answers, task } = item.value;
    if (!limit.worlds) checkWorld(id, task);
    const isScored = answers.length > 0 || limit.episodes || hasWorld(item.value);
    const fault = isScored ? promptFault(question, limit) : UNANSWERED;
    if (fault === null) yield item;
    else yield { deadLetter: { origin, place, key: id, ...fault, payload: question } };
  }
}
