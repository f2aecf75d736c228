/**
 * The judge of ARPO, AEPO, Tool-Star, Tool-Light and ET-Agent (ET-Agent §9.4), for all their sets: LaTeX
 * equality, otherwise a model that says Correct or Incorrect.
 */

import type { AskingGrader } from './grader.ts';
import { saysCorrect, saysVerdict } from './judge.ts';
import { judgePrompt } from './juryPrompts.ts';

export const papers: AskingGrader = {
  name: 'papers',
  way: 'as the papers’ evaluations ask it',
  first: 'equality',
  prompt: judgePrompt,
  read: (reply) => (saysVerdict(reply) ? { right: saysCorrect(reply) } : null),
};
