/**
 * An engine and the version that it holds, so that weights are read only when another version is wanted.
 */
import type { Scorer, TrainerEngine } from '../../model/engine.ts';
import type { Weights } from '../../streams/records.ts';
import type { WeightsStore } from '../weights.ts';

/** What can hold a frozen version: another `EmbeddedTrainer`, say. */
export type FrozenEngine = Pick<TrainerEngine, 'score' | 'restore'>;

export interface Holder {
  /** Weights alone, for scoring. */
  toScore(weights: Weights): Promise<Scorer>;
  /** Weights and the optimiser's state, for the next step. */
  toTrain(weights: Weights): Promise<void>;
  /** The engine is about to change; what it holds is unknown until `holds`. */
  changes(): void;
  /** It now holds this version and its optimiser's state. */
  holds(version: number): void;
}

export function holder(engine: FrozenEngine, store: WeightsStore): Holder {
  let held: { readonly version: number; readonly trainable: boolean } | null = null;
  const restore = async (weights: Weights, trainable: boolean): Promise<void> => {
    held = null;
    await engine.restore(store.saved(weights), trainable ? 'train' : 'score');
    held = { version: weights.version, trainable };
  };
  return {
    async toScore(weights) {
      if (held?.version !== weights.version) await restore(weights, false);
      return engine;
    },
    async toTrain(weights) {
      if (held?.version !== weights.version || !held.trainable) await restore(weights, true);
    },
    changes: () => {
      held = null;
    },
    holds: (version) => {
      held = { version, trainable: true };
    },
  };
}
