import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type DecoderConfig, initialise, parameterShapes } from '../../model/config.ts';
import { loadPolicy, savePolicy } from '../../model/policyFile.ts';
import { readSafetensors, writeSafetensors } from '../../model/safetensors.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'policy-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A file by hand: header, then data. */
function fileOf(header: unknown, data: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(header));
  const size = new Uint8Array(new BigUint64Array([BigInt(json.length)]).buffer);
  return Uint8Array.from([...size, ...json, ...data]);
}

test('tensors and metadata come back as they were written', () => {
  const tensors = new Map([
    ['a.weight', { shape: [2, 2], data: Float32Array.of(1, -2, 3.5, Number.NaN) }],
    ['empty', { shape: [0], data: new Float32Array(0) }],
    ['scalar', { shape: [], data: Float32Array.of(1e-38) }],
  ]);
  const file = writeSafetensors(tensors, { step: '7' });
  expect(readSafetensors(file)).toEqual({ tensors, metadata: { step: '7' } });
  const shifted = Buffer.concat([Buffer.from([0]), file]).subarray(1);
  expect(readSafetensors(shifted).tensors).toEqual(tensors);
});

test('BF16 and F16 are widened', () => {
  const words = Uint16Array.of(0x3fc0, 0xc000, 0x3e00, 0xc000, 0x0001, 0x7c00);
  const header = {
    b: { dtype: 'BF16', shape: [2], data_offsets: [0, 4] },
    h: { dtype: 'F16', shape: [4], data_offsets: [4, 12] },
  };
  const { tensors } = readSafetensors(fileOf(header, new Uint8Array(words.buffer)));
  expect([...tensors.get('b')!.data]).toEqual([1.5, -2]);
  expect([...tensors.get('h')!.data]).toEqual([1.5, -2, 2 ** -24, Number.POSITIVE_INFINITY]);
});

test.each([
  ['another type', { dtype: 'I64', shape: [1], data_offsets: [0, 8] }, "'x' is I64"],
  ['offsets past the end', { dtype: 'F32', shape: [4], data_offsets: [0, 16] }, "'x' [4] needs 16"],
  [
    'a shape of another size',
    { dtype: 'F32', shape: [3], data_offsets: [0, 8] },
    "'x' [3] needs 12",
  ],
])('%s is refused with the name of the tensor', (_, entry, message) => {
  expect(() => readSafetensors(fileOf({ x: entry }, new Uint8Array(8)))).toThrow(message);
});

test.each([[[]], [[9, 0, 0, 0, 0, 0, 0, 0, 1]], [[1, 0, 0, 0, 0, 0, 0, 0, 120]]])(
  'bytes that are no safetensors file are refused: %p',
  (bytes) => {
    expect(() => readSafetensors(Uint8Array.from(bytes))).toThrow('not a safetensors file');
  },
);

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

test('a policy is one file, checked against its digest and its own configuration', async () => {
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
  writeFileSync(path, writeSafetensors(tensors));
  await expect(loadPolicy(path)).rejects.toThrow('no decoder configuration');
});

test('first weights depend on the seed and on nothing else', () => {
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
