/** Adds up what a step reports over its micro-batches: loss, entropy, and the numbers of the loss itself. */
import type { StepReport } from '../engine.ts';
import type { Tally } from '../losses/loss.ts';
import type { Feeds } from '../runtime/session.ts';

export class StepTally {
  readonly #own: Tally;
  #loss = 0;
  #targets = 0;
  #entropy = 0;

  /** `own`: the loss's numbers. */
  constructor(own: Tally) {
    this.#own = own;
  }

  /** Feeds and results of one run of a training graph, or of a scoring graph if the loss is 0. */
  add(feeds: Feeds, results: Feeds): void {
    const logProbs = values(results, 'logProbs');
    // Left out if unknown.
    const entropies = results.entropies === undefined ? [] : values(results, 'entropies');
    this.#loss += results.loss?.data[0] ?? 0;
    this.#targets += logProbs.length;
    for (let i = 0; i < entropies.length; i++) this.#entropy += entropies[i]!;
    this.#own.add(feeds, logProbs);
  }

  report(): Pick<StepReport, 'loss' | 'entropy' | 'numbers'> {
    const count = Math.max(1, this.#targets);
    return {
      loss: this.#loss,
      entropy: this.#entropy / count,
      numbers: this.#own.numbers(count),
    };
  }
}

function values(feeds: Feeds, name: string): Float32Array {
  return feeds[name]?.data as Float32Array;
}
