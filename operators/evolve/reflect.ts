/**
 * What is tried on a wrong trajectory (ET-Agent §4.7): the faulty step is corrected, the policy is given a hint at that
 * step, or it is given one at the end.
 */
import { strip } from '../text/characters.ts';
import { closedSteps, numberedSteps, splitSteps } from '../text/steps.ts';
import { ask, continueFrom, drawHint, finishStep, isReference, type Round } from './context.ts';
import type { Kid } from './enhance.ts';
import { analysisOpener, locatePrompt, newStepPrompt } from './prompts.ts';
import { readFaultyStep, reopenedWithHint, withThinkingTags } from './replies.ts';

/** Kids in order; `locate` stands for both step actions when no faulty step was found. */
export async function reflect(round: Round, parent: string): Promise<Kid[]> {
  const [atStep, trajectory] = await Promise.all([
    reflectAtStep(round, parent),
    hintAtEnd(round, parent),
  ]);
  return [...atStep, { action: 'trajectory-hint', text: trajectory }];
}

async function reflectAtStep(round: Round, parent: string): Promise<Kid[]> {
  const prompt = locatePrompt(round.question.question, numberedSteps(parent));
  const step = readFaultyStep(await ask(round, 'critic', 'locate', prompt));
  if (step === null) return [{ action: 'locate', text: null }];
  const [corrected, hinted] = await Promise.all([
    selfCorrect(round, parent, step),
    hintAtStep(round, parent, step),
  ]);
  return [
    { action: 'self-correct', text: corrected },
    { action: 'step-hint', text: hinted },
  ];
}

/** The analyst explains step n and writes it anew; the policy goes on from there. */
async function selfCorrect(round: Round, parent: string, step: number): Promise<string | null> {
  const all = splitSteps(parent).map(strip);
  if (step < 1 || step > all.length) return null;
  const { question } = round.question;
  const steps = all.slice(0, step);
  const numbered = numberedSteps(steps.join(''));
  const opener = analysisOpener(step);
  const analysis = await ask(round, 'analyst', 'analyse', locatePrompt(question, numbered), opener);
  const prompt = newStepPrompt(question, numbered, analysis);
  const newStep = withThinkingTags(await ask(round, 'analyst', 'new-step', prompt));
  return finishStep(round, 'self-correct-continue', [...steps.slice(0, -1), newStep], newStep);
}

/** The policy goes on after step n with a hint. Only a step with a result can take one. */
async function hintAtStep(round: Round, parent: string, step: number): Promise<string | null> {
  const steps = closedSteps(parent).map(strip);
  if (step < 1 || step > steps.length) return null;
  const hint = drawHint(round, 'step-hint');
  const shown = isReference(round) ? oneCharacter(round, hint) : hint;
  const text = `${steps.slice(0, step).join('')}<think>${shown}`;
  return continueFrom(round, 'step-hint-continue', text);
}

/** The published code draws a second time, from the characters of the hint. */
function oneCharacter({ number, options }: Round, hint: string): string {
  const characters = [...hint];
  return characters[options.draws.under(number, 'step-hint').integer(1, characters.length)]!;
}

async function hintAtEnd(round: Round, parent: string): Promise<string> {
  const hint = drawHint(round, 'trajectory-hint');
  const start = reopenedWithHint(parent, hint, !isReference(round));
  return continueFrom(round, 'trajectory-hint-continue', start);
}
