/**
 * Entry of the trainer's worker: holds one learner, and answers `create`, `step`, `score`, `save`, `write`,
 * `restore`, `close`.
 */

import { serve } from '../../base/index.ts';
import type { SaveTarget, TrainBatch, TrainerCheckpoint } from '../engine.ts';
import { cpuDevice, type Device, openDevice } from '../runtime/device.ts';
import type { Place } from '../runtime/place.ts';
import { tryOut } from '../runtime/tryOut.ts';
import { Learner, type LearnerSettings } from './learner.ts';
import { type AdapterOptions, type PolicySource, TraineeFiles } from './trainee.ts';
import type { Created } from './trainer.ts';
import { trainingTrials } from './trials.ts';

export interface Create {
  readonly policy: PolicySource;
  readonly adapter: AdapterOptions | null;
  readonly settings: LearnerSettings;
  readonly place: Place;
}

interface Made {
  readonly files: TraineeFiles;
  readonly learner: Learner;
  readonly device: Device;
}

let made: Made | null = null;

function created(): Made {
  if (made === null) throw new Error('the trainer has no policy yet');
  return made;
}

serve({
  async create({ policy, adapter, settings, place }: Create) {
    const files = await TraineeFiles.open(policy, adapter);
    const trainee = files.first();
    const device = await openDevice(place);
    if (device !== cpuDevice)
      await tryOut(device, trainingTrials(files.config, settings, trainee.adapter));
    made = { files, learner: new Learner(trainee, settings, device), device };
    return { config: files.config, sizes: files.sizes(trainee) } satisfies Created;
  },
  step(batch: TrainBatch) {
    const { files, learner } = created();
    return learner.step(batch, () => files.written());
  },
  score: (sequences: readonly Int32Array[]) => created().learner.score(sequences),
  async save({ state, ...target }: SaveTarget) {
    const { files, learner, device } = created();
    // Only the CPU's steps can be repeated.
    const exact = device === cpuDevice;
    const wanted = { ...target, state: state !== false || !exact };
    const saved = await files.save(wanted, learner.trainee, learner.optimiser);
    if (!exact) await files.written();
    return saved;
  },
  write(path: string) {
    const { files, learner } = created();
    return files.write(path, learner.trainee);
  },
  async restore(saved: TrainerCheckpoint) {
    const { files, learner } = created();
    await files.written();
    await learner.reset(...(await files.restore(saved)));
  },
  async close() {
    await made?.files.written();
    await made?.learner.close();
    await made?.device.close();
  },
});
