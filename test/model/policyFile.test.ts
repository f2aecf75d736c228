/** A policy in one file, and what a configuration says of its parameters. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type DecoderConfig, initialise, parameterShapes } from '../../model/config.ts';
import { loadPolicy } from '../../model/hf/loadPolicy.ts';
import { writeTensorFile } from '../../model/hf/writeTensorFile.ts';
import { savePolicy } from '../../model/policyFile.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'policy-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const config: DecoderConfig = {
  architecture: 'llama',
  vocabSize: 20,
  hiddenSize: 8,
  layers: 1,
  heads: 2,
  kvHeads: 1,
  intermediateSize: 12,
  ropeTheta: 10000,
  rmsEps: 1e-5,
  attentionBias: false,
  tiedEmbeddings: false,
};

test('a policy file is checked against its digest and its own configuration', async () => {
  const path = join(folder, 'policy.safetensors');
  const tensors = initialise(config, 1);
  const { sha256, bytes } = await savePolicy(path, { config, tensors });
  expect(readFileSync(path).length).toBe(bytes);
  expect(await loadPolicy(path, sha256)).toEqual({ config, tensors });
  await expect(loadPolicy(path, 'other')).rejects.toThrow('not other');
  const { 'model.norm.weight': _, ...rest } = Object.fromEntries(tensors);
  await savePolicy(path, { config, tensors: new Map(Object.entries(rest)) });
  await expect(loadPolicy(path)).rejects.toThrow(
    "'model.norm.weight' should be [8], not [missing]",
  );
  await writeTensorFile(path, [], () => Promise.reject(new Error('not asked for')), {});
  await expect(loadPolicy(path)).rejects.toThrow('no decoder configuration');
});

test('initial weights depend on the seed alone', () => {
  const [a, b, c] = [1, 1, 2].map((seed) => initialise(config, seed));
  expect(a).toEqual(b);
  expect(a).not.toEqual(c);
  expect([...a!.keys()]).toEqual([...parameterShapes(config).keys()]);
  const head = a!.get('lm_head.weight')!.data;
  const variance = head.reduce((sum, value) => sum + value * value, 0) / head.length;
  expect(Math.sqrt(variance)).toBeCloseTo(0.02, 2);
});

test('a shape that cannot be built is refused', () => {
  expect(() => parameterShapes({ ...config, kvHeads: 3 })).toThrow('multiple of kvHeads');
  expect(() => parameterShapes({ ...config, headDim: 3 })).toThrow('even whole number');
});
