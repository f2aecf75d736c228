/**
 * Adds up what a step reports over its micro-batches: loss, entropy, and for a policy loss clipping and drift.
 *
 * A token counts as clipped when the clipped term is the larger one (verl's clip fraction).
 */
import type { Loss, StepReport } from '../engine.ts';
import type { Feeds } from '../runtime/session.ts';

type Tallied = Pick<StepReport, 'loss' | 'entropy' | 'clipFraction' | 'kl' | 'logProbDiffMax'>;

export class StepTally {
  readonly #lossKind: Loss;
  #loss = 0;
  #targets = 0;
  #entropy = 0;
  #clipped = 0;
  #drift = 0;
  #driftMax = 0;

  constructor(loss: Loss) {
    this.#lossKind = loss;
  }

  /** Feeds and results of one run of a training graph. */
  add(feeds: Feeds, results: Feeds): void {
    const entropies = values(results, 'entropies');
    this.#loss += values(results, 'loss')[0] as number;
    this.#targets += entropies.length;
    for (const entropy of entropies) this.#entropy += entropy;
    if (this.#lossKind.kind === 'policy') this.#addPolicy(feeds, values(results, 'logProbs'));
  }

  report(): Tallied {
    const count = Math.max(1, this.#targets);
    return {
      loss: this.#loss,
      entropy: this.#entropy / count,
      clipFraction: this.#clipped / count,
      kl: this.#drift / count,
      logProbDiffMax: this.#driftMax,
    };
  }

  #addPolicy(feeds: Feeds, logProbs: Float32Array): void {
    const [old, advantages] = [values(feeds, 'oldLogProbs'), values(feeds, 'advantages')];
    const low = values(feeds, 'ratioMin')[0] as number;
    const high = values(feeds, 'ratioMax')[0] as number;
    for (const [index, logProb] of logProbs.entries()) {
      const drift = (old[index] as number) - logProb;
      const advantage = advantages[index] as number;
      const ratio = Math.exp(-drift);
      if (-advantage * Math.min(Math.max(ratio, low), high) > -advantage * ratio) this.#clipped++;
      this.#drift += drift;
      this.#driftMax = Math.max(this.#driftMax, Math.abs(drift));
    }
  }
}

function values(feeds: Feeds, name: string): Float32Array {
  return feeds[name]?.data as Float32Array;
}
