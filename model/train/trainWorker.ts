/**
 * Entry of the trainer's worker: holds one learner, and answers `create`, `step`, `score`, `save`, `restore`, `close`.
 */
import type { DecoderConfig, Tensors } from '../config.ts';
import type { TrainBatch } from '../engine.ts';
import { loadPolicy, savePolicy } from '../policyFile.ts';
import { serve } from '../runtime/worker.ts';
import { Learner, type LearnerSettings } from './learner.ts';
import { loadOptimiser, saveOptimiser } from './optimiserFile.ts';

export interface Create {
  readonly policy: string | { readonly config: DecoderConfig; readonly tensors: Tensors };
  readonly settings: LearnerSettings;
}

export interface StateFiles {
  readonly weights: string;
  readonly optimiser?: string;
}

let created: Learner | null = null;

function learner(): Learner {
  if (created === null) throw new Error('the trainer has no policy yet');
  return created;
}

serve({
  async create({ policy, settings }: Create) {
    const { config, tensors } = typeof policy === 'string' ? await loadPolicy(policy) : policy;
    created = new Learner(config, tensors, settings);
    return config;
  },
  step: (batch: TrainBatch) => learner().step(batch),
  score: (sequences: readonly Int32Array[]) => learner().score(sequences),
  async save({ weights, optimiser }: StateFiles) {
    const { config, parameters, optimiser: state } = learner();
    if (optimiser !== undefined) await saveOptimiser(optimiser, state, parameters);
    return savePolicy(weights, { config, tensors: parameters });
  },
  async restore({ weights, optimiser }: StateFiles) {
    const { config, tensors } = await loadPolicy(weights);
    if (JSON.stringify(config) !== JSON.stringify(learner().config))
      throw new Error(`${weights} holds another network than the trainer's: start a trainer on it`);
    const state = optimiser === undefined ? null : await loadOptimiser(optimiser, tensors);
    learner().reset(tensors, state);
  },
  close: () => created?.close(),
});
