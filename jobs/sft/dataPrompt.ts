/**
 * How the conversations of a file prompt, compared with how the policy is prompted: what it learns with one
 * prompt is lost with another.
 */
import { bothLines } from '../parts/chosenPrompt.ts';
import type { PromptRecord } from '../parts/promptRecord.ts';
import type { SftData } from './data.ts';

/** Lines for people if they differ; empty for a run whose data was read by an older version. */
export function dataPromptLines(
  { asked, asTheyAre }: Pick<SftData, 'asked' | 'asTheyAre'>,
  prompt: PromptRecord,
): readonly string[] {
  const own = asked?.system;
  if (own === undefined || own === '' || prompt.system === null) return [];
  if (own?.trim() === prompt.system.trim()) return [];
  const first = asTheyAre
    ? 'the data has a different system prompt from the policy (set system to the data’s, or sft.prompt=policy):'
    : 'ignoring the system prompts in the data (prompt=policy):';
  if (own === null) return [first, '  in the data: more than one'];
  return [
    first,
    ...bothLines('system prompt', own, prompt.system, ['in the data', 'of the policy']),
  ];
}
