/**
 * What is tried on a correct trajectory (ET-Agent §4.6): another rollout, taking redundancy out of one step, and
 * rewriting the thinking of the whole.
 */
import { splitActions } from '../text/actions.ts';
import { numberedSteps, splitSteps } from '../text/steps.ts';
import { ask, finishStep, isReference, type Round, rollOut } from './context.ts';
import { completeWithRetry } from './models.ts';
import { redundancyPrompt, refinePrompt } from './prompts.ts';
import { readRedundancy, upToThinkEnd } from './replies.ts';

/** What an action made of its parent; null when it came to nothing. */
export interface Kid {
  readonly action: string;
  readonly text: string | null;
}

export async function enhance(round: Round, parent: string): Promise<Kid[]> {
  const [rerollout, redundancy, refine] = await Promise.all([
    rollOut(round, 'rerollout'),
    withoutRedundancy(round, parent),
    refined(round, parent),
  ]);
  return [
    { action: 'rerollout', text: rerollout },
    { action: 'redundancy', text: redundancy },
    { action: 'refine', text: refine },
  ];
}

async function withoutRedundancy(round: Round, parent: string): Promise<string | null> {
  const prompt = redundancyPrompt(round.question.question, numberedSteps(parent));
  const found = readRedundancy(await ask(round, 'critic', 'redundancy', prompt));
  if (found === null) return null;
  const steps = splitSteps(parent);
  if (found.step >= 1 && found.step <= steps.length) steps[found.step - 1] = found.corrected;
  const kept = steps.slice(0, found.step);
  return finishStep(round, 'redundancy-continue', kept, found.corrected);
}

/** New thinking before each action, actions as they are. */
async function refined(round: Round, parent: string): Promise<string> {
  const actions = splitActions(parent);
  const prompt = refinePrompt(round.question.question, parent);
  const think = async (continuation: string) => {
    const request = {
      role: 'critic',
      name: `${round.number}/refine`,
      prompt,
      continuation,
    } as const;
    const text = await completeWithRetry(round.options.complete, request);
    if (text === null) throw new Error('the critic gave no thinking to refine a trajectory with');
    return isReference(round) ? text.toLowerCase() : text;
  };
  if (actions.length === 0) return withThinkTag(await think(''));
  let written = '';
  for (const action of actions) written += upToThinkEnd(await think(written)) + action;
  return isReference(round) ? `<think>${written}` : withThinkTag(written);
}

function withThinkTag(text: string): string {
  return text.startsWith('<think>') ? text : `<think>${text}`;
}
