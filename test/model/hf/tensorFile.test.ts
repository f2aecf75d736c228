/** One safetensors file: what is written comes back, and what is damaged is refused with file and tensor. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import type { Tensor } from '../../../model/config.ts';
import { openTensorFile } from '../../../model/hf/tensorFile.ts';
import { writeTensorFile } from '../../../model/hf/writeTensorFile.ts';
import { readSafetensors } from '../../oracles/safetensors.ts';
import { temporaryFolder } from '../../support/folder.ts';

const folder = temporaryFolder();
const at = (name: string) => join(folder.path, name);
afterAll(() => folder.remove());

const tensors: ReadonlyMap<string, Tensor> = new Map([
  ['a.weight', { shape: [2, 3], data: Float32Array.of(1, -2, 3.5, 0.1, Number.NaN, -0) }],
  ['empty', { shape: [0, 4], data: new Float32Array(0) }],
  ['scalar', { shape: [], data: Float32Array.of(1e-38) }],
]);
const read = (name: string) => tensors.get(name)!;
const entries = (dtype: 'F32' | 'F16' | 'BF16') =>
  [...tensors].map(([name, { shape }]) => ({ name, shape, dtype }));

/** A file by hand: header, then data. */
function write(name: string, header: unknown, dataBytes: number): string {
  const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  writeFileSync(at(name), Buffer.concat([length, json, Buffer.alloc(dataBytes)]));
  return at(name);
}

test('tensors and metadata are read back, one at a time or together, with the digest of the file', async () => {
  const written = await writeTensorFile(at('f32'), entries('F32'), read, { step: '7' });
  const bytes = readFileSync(at('f32'));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect(written).toEqual({ sha256, bytes: bytes.length, overflowed: 0 });
  expect(readSafetensors(bytes)).toEqual({ tensors, metadata: { step: '7' } });

  const file = await openTensorFile(at('f32'));
  expect(file.metadata).toEqual({ step: '7' });
  expect(file.tensors.get('a.weight')).toMatchObject({ shape: [2, 3], dtype: 'F32', bytes: 24 });
  expect(await file.read('scalar')).toEqual(tensors.get('scalar'));
  const hash = createHash('sha256');
  const all = new Map<string, Tensor>();
  for await (const [name, tensor] of file.readAll(hash)) all.set(name, tensor);
  expect(new Map([...all].sort())).toEqual(tensors);
  expect(hash.digest('hex')).toBe(sha256);
  await expect(file.read('b')).rejects.toMatchObject({
    code: 'CHECKPOINT',
    context: { tensor: 'b' },
  });
  await file.close();
});

test.each(['F16', 'BF16'] as const)(
  'a tensor in %s is written, its overflows are counted, and it is widened when read',
  async (dtype) => {
    const big = { shape: [3], data: Float32Array.of(1.5, 3.4028235e38, Number.NEGATIVE_INFINITY) };
    const written = await writeTensorFile(
      at(dtype),
      [{ name: 'x', shape: [3], dtype }],
      () => big,
      {},
    );
    expect(written.overflowed).toBe(1);
    const file = await openTensorFile(at(dtype));
    expect([...(await file.read('x')).data]).toEqual([1.5, Infinity, -Infinity]);
    await file.close();
  },
);

test('a tensor larger than a chunk is read and written whole', async () => {
  const shape = [3, 1 << 20];
  const data = Float32Array.from({ length: 3 << 20 }, (_, i) => i % 251);
  for (const dtype of ['F32', 'BF16'] as const) {
    await writeTensorFile(
      at(`big-${dtype}`),
      [{ name: 'x', shape, dtype }],
      () => ({ shape, data }),
      {},
    );
    const file = await openTensorFile(at(`big-${dtype}`));
    expect(
      Buffer.compare(Buffer.from((await file.read('x')).data.buffer), Buffer.from(data.buffer)),
    ).toBe(0);
    await file.close();
  }
});

test('a tensor file that could not be finished does not exist', async () => {
  const fail = writeTensorFile(
    at('half'),
    entries('F32'),
    (name) => {
      if (name === 'scalar') throw new Error('disk full');
      return read(name);
    },
    {},
  );
  await expect(fail).rejects.toThrow('disk full');
  const wrong = writeTensorFile(
    at('half'),
    [{ name: 'a', shape: [3, 2], dtype: 'F32' }],
    () => read('a.weight'),
    {},
  );
  await expect(wrong).rejects.toThrow("tensor 'a' should be [3, 2], not [2, 3]");
  expect(readdirSync(folder.path).filter((name) => name.startsWith('half'))).toEqual([]);
});

const F32 = (shape: unknown, from: number, to: number) => ({
  dtype: 'F32',
  shape,
  data_offsets: [from, to],
});

test.each<[string, unknown, number, string, string | undefined]>([
  ['no JSON', '{"a"', 0, 'its header is not JSON', undefined],
  ['no object', '[]', 0, 'its header is not an object', undefined],
  ['another type', { x: { ...F32([1], 0, 8), dtype: 'I64' } }, 8, "tensor 'x' is I64", 'x'],
  [
    'a shape of another size',
    { x: F32([3], 0, 8) },
    8,
    "tensor 'x' [3] of F32 needs 12 bytes but has 8",
    'x',
  ],
  ['a shape that is none', { x: F32([-2, -1], 0, 8) }, 8, "tensor 'x' has the shape [-2,-1]", 'x'],
  [
    'offsets that are none',
    { x: { ...F32([2], 0, 8), data_offsets: [0] } },
    8,
    "tensor 'x' has the offsets [0]",
    'x',
  ],
  [
    'two tensors in one place',
    { x: F32([2], 0, 8), y: F32([2], 4, 12) },
    12,
    "tensor 'y' begins at byte",
    'y',
  ],
  ['a gap', { x: F32([2], 0, 8), y: F32([1], 12, 16) }, 16, "tensor 'y' begins at byte", 'y'],
  [
    'data cut short',
    { x: F32([2], 0, 8), y: F32([2], 8, 16) },
    12,
    "cut short: tensor 'y' ends at byte",
    'y',
  ],
  ['more data than described', { x: F32([2], 0, 8) }, 9, 'where its header describes', undefined],
])('a tensor file with %s is refused', async (_, header, dataBytes, message, tensor) => {
  const path = write('bad', header, dataBytes);
  const error = await openTensorFile(path).catch((caught) => caught);
  expect(error).toMatchObject({ code: 'CHECKPOINT', context: { file: path } });
  expect(error.context.tensor).toBe(tensor);
  expect(error.message).toContain(path);
  expect(error.message).toContain(message);
});

test.each([[0], [7], [8], [20], [-1]])(
  'a tensor file truncated to %p bytes is refused',
  async (bytes) => {
    await writeTensorFile(at('whole'), entries('F32'), read, {});
    writeFileSync(at('cut'), readFileSync(at('whole')).subarray(0, bytes));
    await expect(openTensorFile(at('cut'))).rejects.toMatchObject({ code: 'CHECKPOINT' });
  },
);

test('a tensor file truncated after it was opened is refused by the missing tensor', async () => {
  const path = write('later', { x: F32([2], 0, 8), y: F32([2], 8, 16) }, 16);
  const file = await openTensorFile(path);
  writeFileSync(path, readFileSync(path).subarray(0, -4));
  expect((await file.read('x')).shape).toEqual([2]);
  await expect(file.read('y')).rejects.toThrow("ends inside tensor 'y'");
  await file.close();
});

test('a missing tensor file is named', async () => {
  await expect(openTensorFile(at('none'))).rejects.toThrow(
    `${at('none')} cannot be opened (ENOENT)`,
  );
});
