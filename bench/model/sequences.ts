/** What is trained on and generated: the same tokens and lengths for both sides, from keyed draws. */

import { draws } from '../../base/draws.ts';
import type { DecoderConfig } from '../../model/config.ts';
import type { GenerateRequest, Loss, TrainSequence } from '../../model/engine.ts';

export type LossName = 'SFT' | 'GRPO';

/** What `yardsticks/train.py` computes, in our words. */
export const LOSSES: Readonly<Record<LossName, Loss>> = {
  SFT: { name: 'sft' },
  GRPO: { name: 'clipped', settings: { clipHigh: 0.28 } },
};

/** Sequences of which `length` tokens enter the model; all but the first are targets. */
export function trainSequences(
  { vocabSize }: DecoderConfig,
  count: number,
  length: number,
): readonly TrainSequence[] {
  // near what untrained weights say, so that some ratios are clipped and others are not
  const usual = -Math.log(vocabSize);
  return Array.from({ length: count }, (_, row) => {
    const coin = draws('bench', 'train', row);
    const numbers = (name: string, of: (uniform: number) => number) => {
      const stream = coin.under(name);
      return Float32Array.from({ length: length + 1 }, (_, i) => of(stream.uniform(i)));
    };
    return {
      tokens: randomTokens(coin.under('tokens'), vocabSize, length + 1),
      mask: new Uint8Array(length + 1).fill(1, 1),
      advantages: numbers('advantages', (uniform) => 2 * uniform - 1),
      oldLogProbs: numbers('old', (uniform) => usual + uniform - 0.5),
    };
  });
}

/** A prompt by its name. */
export function prompt({ vocabSize }: DecoderConfig, name: string, length: number): Int32Array {
  return randomTokens(draws('bench', 'prompt', name), vocabSize, length);
}

function randomTokens(coin: ReturnType<typeof draws>, vocabSize: number, length: number) {
  return Int32Array.from({ length }, (_, i) => coin.integer(i, vocabSize));
}

/** Ends after `maxTokens`; drawn from the whole vocabulary. */
export function request(tokens: Int32Array, maxTokens: number, id: number): GenerateRequest {
  const key = ['bench', 'rollout', id];
  return { tokens, maxTokens, temperature: 1, stopTokens: [], draws: key, topLogProbs: 0 };
}

export interface Tail {
  readonly median: number;
  readonly max: number;
}

/** Tokens of rollouts: log-normal with a deviation of 1, at least 4. Few are many times as long as most. */
export function longTailed(count: number, { median, max }: Tail): readonly number[] {
  const coin = draws('bench', 'lengths');
  return Array.from({ length: count }, (_, i) => {
    const radius = Math.sqrt(-2 * Math.log(1 - coin.uniform(2 * i)));
    const normal = radius * Math.cos(2 * Math.PI * coin.uniform(2 * i + 1));
    return Math.max(4, Math.min(max, Math.round(median * Math.exp(normal))));
  });
}
