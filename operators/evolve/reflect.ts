/**
 * What is tried on a wrong trajectory (ET-Agent §4.7): correcting the faulty step, or giving the policy a
 * hint at that step or at the end.
 */

import { closedSteps, numberedSteps, splitSteps } from '../dialect/steps.ts';
import { tagPairs } from '../dialect/tags.ts';
import { strip } from '../text/characters.ts';
import { type EvolveAction, finishStep } from './action.ts';
import { reopenedWithHint, withThinkingTags } from './replies.ts';

/** The analyst explains the faulty step and rewrites it; the policy continues from there. */
export const selfCorrection: EvolveAction = {
  name: 'self-correct',
  on: 'incorrect',
  async apply(context) {
    const { parent, prompts, mode, tools, locate, ask } = context;
    const { question } = context.question;
    const step = await locate();
    const all = splitSteps(parent).map(strip);
    if (step === null || step < 1 || step > all.length) return null;
    const before = all.slice(0, step - 1);
    const steps = numberedSteps(all.slice(0, step).join(''));
    const continuation = `\n\n${prompts['analysis-opener']({ step: String(step) })}`;
    const flaw = prompts.locate({ question, steps });
    const analysis = await ask('analyst', flaw, { purpose: 'analyse', continuation });
    const wanted = prompts['new-step']({ question, steps, analysis, tools: tagPairs(tools) });
    const written = await ask('analyst', wanted, { purpose: 'new-step' });
    if (written === '' && mode !== 'reference') return null;
    return finishStep(context, [...before, withThinkingTags(written, tools)]);
  },
};

/** The policy continues after the faulty step with a hint. Only a step with a result can take one. */
export const stepHint: EvolveAction = {
  name: 'step-hint',
  on: 'incorrect',
  async apply({ parent, mode, draws, locate, hint, continueFrom }) {
    const step = await locate();
    const steps = closedSteps(parent).map(strip);
    if (step === null || step < 1 || step > steps.length) return null;
    const characters = [...hint()];
    // The published code draws a second time, from the characters of the hint.
    const shown =
      mode === 'reference' ? characters[draws.integer(1, characters.length)]! : characters.join('');
    return continueFrom(`${steps.slice(0, step).join('')}<think>${shown}`);
  },
};

/** The answer is removed, and the policy continues with a hint. */
export const trajectoryHint: EvolveAction = {
  name: 'trajectory-hint',
  on: 'incorrect',
  apply: ({ parent, mode, tools, hint, continueFrom }) =>
    continueFrom(reopenedWithHint(parent, hint(), mode, tools)),
};
