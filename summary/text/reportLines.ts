/** What a run is and what it was asked, in a few words: for text and page. */

import { counted } from '../../base/text/index.ts';
import { describeSampling } from '../../model/index.ts';
import { duration } from '../format/numbers.ts';
import type { Results } from '../results.ts';

/** The run in one line, without its name. */
export function headOf({ job, seed, status, seconds }: Results): string {
  return [job, `seed ${seed}`, `${status} ${spanWords[status]} ${duration(seconds)}`].join(' · ');
}

/** Between the state of a run and its time: a running one has not ended. */
const spanWords: Readonly<Record<Results['status'], string>> = {
  running: 'for',
  done: 'in',
  stopped: 'after',
  failed: 'after',
};

/** What was asked, and how answers were sampled. */
export function askedOf({ before, sampling, rolloutsEach }: Results): string {
  return [
    counted(before?.questions ?? 0, 'held-out question'),
    ...(rolloutsEach === null ? [] : [`${counted(rolloutsEach, 'rollout')} each`]),
    ...(sampling === null ? [] : [describeSampling(sampling)]),
  ].join(' · ');
}

/** The outcome of training, in one line; empty before the first step. */
export function trainedOf({ training }: Pick<Results, 'training'>): string[] {
  if (training === null) return [];
  const { steps, tokens, examples, seconds } = training;
  const parts = [
    counted(steps, 'step'),
    `${counted(tokens, 'token')} trained`,
    ...(examples === null ? [] : [counted(examples, 'example')]),
    `${duration(seconds)} in the trainer`,
  ];
  return [parts.join(' · ')];
}
