/**
 * Four optimiser steps with a checkpoint after each: `mortalSteps.ts FOLDER [FATE]`. Goes on from the newest
 * checkpoint in its manifest whose state is there, repeats the steps since, and prints the digest of the last weights. In the third step it kills
 * itself where FATE says: half of the parameters are updated, half of the state's digest is computed, or half
 * of a file's tensors are written; the state's is written beside the fourth step.
 */
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SavedCheckpoint } from '../../../../model/engine.ts';
import { Learner } from '../../../../model/train/learner.ts';
import { TraineeFiles } from '../../../../model/train/trainee.ts';
import { trainerDefaults } from '../../../../model/train/trainer.ts';

const [folder, fate] = process.argv.slice(2) as [string, string | undefined];
const STEPS = 4;
const FATAL = 3;

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // the signal is on its way; nothing more may happen
  for (;;);
}

/** Dies when these numbers are to be written. */
function mortal(numbers: object | undefined): void {
  Object.defineProperty(numbers, 'buffer', { get: die });
}

function batch(step: number) {
  const sequences = [30, 7, 18, 25].map((length, row) => ({
    tokens: Int32Array.from({ length }, (_, i) => (i * i + 3 * row + 7 * i + step) % 24),
    mask: new Uint8Array(length).fill(1, 1),
    advantages: new Float32Array(length),
    oldLogProbs: new Float32Array(length),
  }));
  return { sequences, loss: { name: 'sft' }, lr: 0.01 } as const;
}

const files = await TraineeFiles.open(join(folder, 'base.safetensors'), null);
const learner = new Learner(files.first(), { ...trainerDefaults, microBatchTokensMax: 32 });
const manifest = join(folder, 'manifest.json');
const saved: SavedCheckpoint[] = existsSync(manifest)
  ? JSON.parse(await readFile(manifest, 'utf8'))
  : [];
const whole = saved.findLast(({ state }) => existsSync(state!.uri));
if (whole !== undefined) await learner.reset(...(await files.restore(whole)));
for (let step = (whole?.weights.version ?? 0) + 1; step <= STEPS; step++) {
  const { moments } = learner.optimiser;
  const names = [...learner.trained.keys()];
  const middle = names[names.length >> 1]!;
  if (step === FATAL && fate === 'update') {
    const get = moments.get.bind(moments);
    Object.assign(moments, { get: (name: string) => (name === middle ? die() : get(name)) });
  }
  await learner.step(batch(step), () => files.written());
  if (step === FATAL && fate === 'digest') mortal(moments.get(middle)?.mean);
  if (step === FATAL && fate === 'weights') mortal(learner.trained.get(middle)?.data);
  const known = saved[step - 1];
  const expected = known && { weights: known.weights.digest, state: known.state!.digest };
  const target = { version: step, folder, ...(expected && { expected }) };
  saved[step - 1] = await files.save(target, learner.trainee, learner.optimiser);
  if (step === FATAL && fate === 'state') mortal(moments.get(middle)?.mean);
  await writeFile(`${manifest}.tmp`, JSON.stringify(saved));
  await rename(`${manifest}.tmp`, manifest);
}
await files.written();
await learner.close();
console.log(saved.at(-1)!.weights.digest);
