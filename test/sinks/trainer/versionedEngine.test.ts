/** What a trainer remembers of the versions that its engine held. */
import { expect, test } from '@jest/globals';
import type { Checkpoint, TrainerCheckpoint } from '../../../model/index.ts';
import { versionedEngine } from '../../../sinks/trainer/versionedEngine.ts';
import type { WeightsStore } from '../../../sinks/weights/weights.ts';
import type { Weights } from '../../../topics/index.ts';

function checkpoint(version: number, of: string): Checkpoint {
  return { version, uri: `weights/${version}.${of}`, digest: `${of} ${version}` };
}

const store = {
  saved: ({ version }: Weights): TrainerCheckpoint => ({
    weights: checkpoint(version, 'weights'),
    state: checkpoint(version, 'state'),
  }),
} as WeightsStore;

const version = (number: number) => ({ version: number }) as Weights;

test('the digest of a version is computed again once a hundred others came between, of one in use never', async () => {
  const digests: (string | null)[] = [];
  const engine = versionedEngine(
    {
      score: async () => [],
      restore: async ({ weights }) => {
        digests.push(weights.digest);
      },
    },
    store,
  );
  await engine.toScore(version(0));
  for (let step = 1; step <= 100; step++) {
    engine.holds(version(step));
    await engine.toScore(version(0));
    await engine.toTrain(version(step));
  }
  expect(digests).toEqual(['weights 0', ...Array(200).fill(null)]);
  await engine.toScore(version(1));
  expect(digests.at(-1)).toBe('weights 1');
});
