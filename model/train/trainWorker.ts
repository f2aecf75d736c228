/**
 * Entry of the trainer's worker: holds one learner, and answers `create`, `step`, `score`, `save`, `restore`, `close`.
 */
import type { TrainBatch } from '../engine.ts';
import { serve } from '../runtime/worker.ts';
import { Learner, type LearnerSettings } from './learner.ts';
import {
  type AdapterOptions,
  type PolicySource,
  type StateFiles,
  TraineeFiles,
} from './trainee.ts';

export interface Create {
  readonly policy: PolicySource;
  readonly adapter: AdapterOptions | null;
  readonly settings: LearnerSettings;
}

interface Created {
  readonly files: TraineeFiles;
  readonly learner: Learner;
}

let made: Created | null = null;

function created(): Created {
  if (made === null) throw new Error('the trainer has no policy yet');
  return made;
}

serve({
  async create({ policy, adapter, settings }: Create) {
    const files = await TraineeFiles.open(policy, adapter);
    made = { files, learner: new Learner(files.first(), settings) };
    return files.config;
  },
  step: (batch: TrainBatch) => created().learner.step(batch),
  score: (sequences: readonly Int32Array[]) => created().learner.score(sequences),
  save(places: StateFiles) {
    const { files, learner } = created();
    return files.save(places, learner.trainee, learner.optimiser);
  },
  async restore(places: StateFiles) {
    const { files, learner } = created();
    learner.reset(...(await files.restore(places)));
  },
  close: () => made?.learner.close(),
});
