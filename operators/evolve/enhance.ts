/**
 * What is tried on a correct trajectory (ET-Agent §4.6): another rollout, taking redundancy out of one step,
 * and rewriting the thinking of the whole.
 */
import { splitActions } from '../dialect/actions.ts';
import { numberedSteps, splitSteps } from '../dialect/steps.ts';
import { type ActionContext, type EvolveAction, finishStep } from './action.ts';
import { closedThinking, readRedundancy, upToThinkEnd } from './replies.ts';

/** The question asked again (ET-Agent §4.6). */
export const rerollout: EvolveAction = {
  name: 'rerollout',
  on: 'correct',
  apply: ({ rollOut }) => rollOut(),
};

/** The critic shortens one step; the policy continues from it. */
export const redundancyRemoval: EvolveAction = {
  name: 'redundancy',
  on: 'correct',
  async apply(context) {
    const { question, parent, prompts, mode, ask } = context;
    const prompt = prompts.redundancy({
      question: question.question,
      steps: numberedSteps(parent),
    });
    const found = readRedundancy(await ask('critic', prompt));
    if (found === null) return null;
    const steps = splitSteps(parent);
    const there = found.step >= 1 && found.step <= steps.length;
    if (there) return finishStep(context, [...steps.slice(0, found.step - 1), found.corrected]);
    // The published code replaces nothing then, and runs the corrected step's call at the end of what it
    // keeps.
    if (mode !== 'reference') return null;
    return finishStep(context, steps.slice(0, found.step), found.corrected);
  },
};

/** The critic writes new thinking before each action; actions stay as they are. */
export const refinement: EvolveAction = {
  name: 'refine',
  on: 'correct',
  async apply(context) {
    const actions = splitActions(context.parent, context.tools);
    const reference = context.mode === 'reference';
    if (actions.length === 0) {
      const whole = await think(context, '');
      if (whole === null) return null;
      if (!reference) return closedThinking(whole, context.fence);
      return whole.startsWith('<think>') ? whole : `<think>${whole}`;
    }
    let written = '';
    for (const action of actions) {
      const thinking = await think(context, written);
      if (thinking === null) return null;
      written +=
        (reference ? upToThinkEnd(thinking) : closedThinking(thinking, context.fence)) + action;
    }
    return reference ? `<think>${written}` : written;
  },
};

/** The critic's next thinking; null if it gave up, which ends a published flywheel. */
async function think(context: ActionContext, continuation: string): Promise<string | null> {
  const { question, parent, prompts, mode, complete } = context;
  const prompt = prompts.refine({ question: question.question, trajectory: parent });
  const text = await complete('critic', prompt, { continuation, stop: ['</think>'] });
  if (mode !== 'reference') return text;
  if (text === null)
    throw new Error('the critic returned no thinking with which to refine a trajectory');
  return text.toLowerCase();
}
