/**
 * Ends a fine-tuning while the policy still has entropy that RL can learn from. After each step the entropy
 * is measured on the round's held-out demonstrations; once it is below the minimum, the later steps of the
 * round change no weights.
 *
 * The end of a round is a metric, committed with the step that ended it: a resumed run reads it, a replay
 * computes it again.
 */
import type { Report } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Scorer, TrainSequence } from '../../model/index.ts';
import { type Log, recordsOf } from '../../streams/index.ts';
import { type Batch, topics } from '../../topics/index.ts';
import { heldOutNumbers } from './heldOutNumbers.ts';

const ENDED = 'finetune/ended';

/** Marks a step that was left out because its round had ended. */
export const LEFT_OUT = 'step/left_out';

export interface EntropyLeftOptions {
  /** Nats per token; 0 = not measured. */
  readonly min: number;
  readonly log: Log;
  readonly report: Report;
  /** The sequences of held-out examples. */
  readonly sequences: (batch: Batch) => Promise<readonly TrainSequence[]>;
}

export class EntropyLeft {
  readonly #options: EntropyLeftOptions;
  #ended: Set<number> | null = null;
  /** Those of the round that is trained now. */
  #heldOut: { readonly round: number; readonly sequences: readonly TrainSequence[] } | null = null;

  constructor(options: EntropyLeftOptions) {
    this.#options = options;
  }

  /** Whether a batch must not be trained. */
  async hasEnded({ kind, round }: Batch): Promise<boolean> {
    if (this.#options.min === 0 || kind !== 'sft') return false;
    this.#ended ??= await endedIn(this.#options.log);
    return this.#ended.has(round);
  }

  /** Numbers of the policy before a round's first step (`done` = 0) or after a step. */
  async measured(
    engine: Scorer,
    batch: Batch,
    done: number,
  ): Promise<Readonly<Record<string, number>>> {
    const { min, report } = this.#options;
    if (min === 0 || batch.kind !== 'sft' || batch.heldOut.length === 0) return {};
    const sequences = await this.#sequences(batch);
    if (sequences.length === 0) return {};
    const { loss, entropy } = await heldOutNumbers(engine, sequences);
    // Without exact entropies the cross-entropy stands in; the two are close once the data are learnt.
    const left = entropy ?? loss;
    const numbers = { 'finetune/entropy': left };
    if (done === 0 || done === batch.of || left >= min) return numbers;
    this.#ended?.add(batch.round);
    report(
      `fine-tuning ends after step ${done} of ${batch.of}: entropy is ${left.toPrecision(3)} nats a token on ` +
        `${counted(sequences.length, 'held-out demonstration')}, below entropyMin=${min}; more steps would leave RL nothing to learn from`,
    );
    return { ...numbers, [ENDED]: 1 };
  }

  async #sequences(batch: Batch): Promise<readonly TrainSequence[]> {
    const { round } = batch;
    if (this.#heldOut?.round !== round) {
      this.#heldOut = { round, sequences: await this.#options.sequences(batch) };
    }
    return this.#heldOut.sequences;
  }
}

async function endedIn(log: Log): Promise<Set<number>> {
  const rounds = new Set<number>();
  const from = { kind: 'earliest' } as const;
  for await (const { value } of recordsOf(log, topics.metrics, { from })) {
    if (value.name === ENDED) rounds.add(value.round);
  }
  return rounds;
}
