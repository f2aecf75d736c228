/**
 * An engine and the version that it holds, so that weights are read only if another version is needed.
 */
import { LruCache } from '../../base/index.ts';
import type { Checkpoint, Scorer, TrainerEngine } from '../../model/index.ts';
import type { Weights } from '../../topics/index.ts';
import type { WeightsStore } from '../weights/weights.ts';

/** Anything that can hold a frozen version, such as another `EmbeddedTrainer`. */
export type FrozenEngine = Pick<TrainerEngine, 'score' | 'restore'>;

/**
 * More than the files that one step goes back to: an endless run would otherwise remember all its versions.
 */
const CHECKED_MAX = 64;

export interface VersionedEngine {
  /** Weights alone, for scoring. */
  toScore(weights: Weights): Promise<Scorer>;
  /** Whether the next step can begin from it at once. */
  trains(weights: Weights): boolean;
  /** Weights and the optimiser's state, for the next step. */
  toTrain(weights: Weights): Promise<void>;
  /** The engine is about to change; what it holds is unknown until `holds`. */
  changes(): void;
  /** It now holds this version, which it has just saved, and its optimiser's state. */
  holds(manifest: Weights): void;
}

export function versionedEngine(engine: FrozenEngine, store: WeightsStore): VersionedEngine {
  let held: { readonly version: number; readonly trainable: boolean } | null = null;
  /**
   * Uris of what this process has recently written or read through: switching back and forth does not compute
   * their digests twice.
   */
  const checked = new LruCache<true>(CHECKED_MAX);
  const once = (checkpoint: Checkpoint): Checkpoint =>
    checked.get(checkpoint.uri) ? { ...checkpoint, digest: null } : checkpoint;
  const restore = async (manifest: Weights, trainable: boolean): Promise<void> => {
    const { weights, state } = store.saved(manifest);
    held = null;
    const saved = { weights: once(weights), state: state === null ? null : once(state) };
    await engine.restore(saved, trainable ? 'train' : 'score');
    checked.set(weights.uri, true);
    if (trainable && state !== null) checked.set(state.uri, true);
    held = { version: manifest.version, trainable };
  };
  const trains = ({ version }: Weights): boolean => held?.version === version && held.trainable;
  return {
    async toScore(weights) {
      if (held?.version !== weights.version) await restore(weights, false);
      return engine;
    },
    trains,
    async toTrain(weights) {
      if (!trains(weights)) await restore(weights, true);
    },
    changes: () => {
      held = null;
    },
    holds: (manifest) => {
      const { weights, state } = store.saved(manifest);
      checked.set(weights.uri, true);
      if (state !== null) checked.set(state.uri, true);
      held = { version: manifest.version, trainable: true };
    },
  };
}
