/** The embedded engine and trainer start from a Hugging Face folder as from our one file. */
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { initialise } from '../../../model/config.ts';
import type { Checkpoint, GenerateRequest } from '../../../model/engine.ts';
import { inMemory } from '../../../model/hf/tensorSource.ts';
import { writeFolder } from '../../../model/hf/writeFolder.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import { EmbeddedEngine } from '../../../model/rollout/embeddedEngine.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { smallest as config } from '../smallest.ts';

const folder = temporaryFolder();
const at = (name: string) => join(folder.path, name);
afterAll(() => folder.remove());
const tensors = initialise(config, 2);
const request: GenerateRequest = {
  tokens: Int32Array.of(1, 2, 3),
  maxTokens: 6,
  temperature: 1,
  stopTokens: [],
  draws: ['folder'],
  topLogProbs: 0,
};

test('the same weights as a file or a folder generate the same tokens, and the digest of a folder is checked', async () => {
  const file = await savePolicy(at('p.safetensors'), { config, tensors });
  const saved = await writeFolder(at('p'), config, inMemory(tensors), { dtype: 'F32' });
  const first: Checkpoint = { version: 0, uri: at('p.safetensors'), digest: file.sha256 };
  const clock = { now: () => 0 };
  const engine = await EmbeddedEngine.create({
    weights: first,
    threads: 1,
    rowsMax: 2,
    contextMax: 16,
    clock,
  });
  const one = await engine.generate(request);
  await engine.load({ version: 1, uri: at('p'), digest: saved.sha256 });
  const other = await engine.generate(request);
  expect(other.version).toBe(1);
  expect([...other.tokens]).toEqual([...one.tokens]);
  expect([...other.logProbs]).toEqual([...one.logProbs]);
  await expect(engine.load({ version: 2, uri: at('p'), digest: 'other' })).rejects.toMatchObject({
    message: expect.stringContaining(`digest ${saved.sha256}, not other`),
    code: 'DIGEST',
  });
  await engine.close();
});

test('a trainer starts from a Hugging Face folder and publishes one file', async () => {
  const trainer = await EmbeddedTrainer.create({ policy: at('p'), threads: 1 });
  const { sha256 } = await trainer.write(at('v1.safetensors'));
  await trainer.close();
  const again = await savePolicy(at('v1-again.safetensors'), { config, tensors });
  expect(sha256).toBe(again.sha256);
});
