/** What to check if no answer is right. */
import { counted } from '../base/text/index.ts';
import type { Evaluation } from '../operators/metrics/index.ts';
import { percent } from './format/index.ts';

/** With fewer questions, none right may be chance. */
const QUESTIONS_MIN = 8;

/** A sentence if an evaluation has no right answer; otherwise empty. */
export function zeroAccuracy(run: string, measured: Evaluation | null): readonly string[] {
  if (measured === null || measured.accuracy !== 0 || measured.questions < QUESTIONS_MIN) return [];
  const { formatValid, meanToolCalls, questions } = measured;
  const found = [
    formatValid === 0
      ? 'no response has a valid format'
      : `${percent(formatValid)} of the responses have a valid format`,
    meanToolCalls === 0
      ? 'none calls a tool'
      : `they make ${meanToolCalls.toFixed(1)} tool calls each`,
  ];
  return [
    `no answer to ${counted(questions, 'held-out question')} is right: ${found.join(', and ')}. Read one with millrace tap ${run}.rollouts -n 1 -o pretty; docs/zeroAccuracy.md lists the causes`,
  ];
}
