/**
 * A simulated critic and judge: it finds the first step at fault, has one better step to offer, and judges by
 * the reference, after a while that is drawn for what it is asked.
 */
import type { Draws } from '../../base/index.ts';
import type { Complete } from '../../operators/evolve/index.ts';
import type { Life } from './life.ts';

const REPLIES: Readonly<Record<string, string>> = {
  locate: 'Step: 1\nAnalysis: it is wrong.',
  redundancy: 'Step: no',
  'new-step': '<think>I look it up.</think><search>three</search>',
};

export function simulatedCritic(life: Life, draws: Draws, medianMs: number): Complete {
  return async ({ draws: key, name, prompt }, signal) => {
    await life.clock.sleep(medianMs * (0.3 + draws.under(...key).uniform(0)), signal);
    if (name.startsWith('judge/')) {
      const [, gold, said] = /counts\):\n(\d+)\n\nPrediction:\n(\d*)/.exec(prompt) ?? [];
      return gold === said ? 'Correct' : 'Incorrect';
    }
    return REPLIES[name.split('/').at(-1) ?? ''] ?? '<think>So</think>';
  };
}
