import { expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { float32Text, passBody } from '../../../model/tinker/encode.ts';
import { pieces } from '../../../model/tinker/pieces.ts';

test('a float32 is read back from its text exactly', () => {
  const stream = draws('float32');
  const some = Array.from({ length: 20_000 }, (_, i) =>
    Math.fround(
      (stream.uniform(2 * i) - 0.5) * 10 ** Math.floor(60 * stream.uniform(2 * i + 1) - 35),
    ),
  );
  const edges = [0, -0, 1, -1, 0.1, 1e-45, 3.4028234663852886e38, 1.17549435e-38, 123_456_789, 1e9];
  for (const value of [...some, ...edges.map(Math.fround)]) {
    const read = Math.fround(JSON.parse(float32Text(value)));
    if (read !== value) throw new Error(`${value} was written as ${float32Text(value)}`);
  }
});

test('a sequence ends with its last target, and positions without one hold 0', () => {
  const values = { places: [2, 4], advantages: [0.5, -2], logProbs: [-1, -3], weights: null };
  const body = passBody({
    ...{ route: 'forward_backward', modelId: 'a"b', number: 7, lossFn: 'importance_sampling' },
    data: [{ tokens: Int32Array.of(9, 8, 7, 6, 5, 4), values }],
  });
  const tensor = (dtype: string, data: number[]) => ({ data, dtype, shape: [4] });
  expect(JSON.parse(Buffer.from(body).toString())).toEqual({
    ...{ model_id: 'a"b', seq_id: 7, type: 'forward_backward' },
    forward_backward_input: {
      loss_fn: 'importance_sampling',
      data: [
        {
          model_input: { chunks: [{ type: 'encoded_text', tokens: [9, 8, 7, 6] }] },
          loss_fn_inputs: {
            target_tokens: tensor('int64', [8, 7, 6, 5]),
            weights: tensor('float32', [0, 1, 0, 1]),
            advantages: tensor('float32', [0, 0.5, 0, -2]),
            logprobs: tensor('float32', [0, -1, 0, -3]),
          },
        },
      ],
    },
  });
});

test('a batch is split in order, within its limits of datums and bytes, with pairs kept whole', () => {
  const lengths = [10, 0, 10, 10, 10, 10];
  expect(pieces(lengths, 1, { datums: 2, bytes: 1e6 })).toEqual([[0, 2], [3, 4], [5]]);
  expect(pieces([10, 10, 10, 10, 10, 10], 2, { datums: 3, bytes: 1e6 })).toEqual([
    [0, 1],
    [2, 3],
    [4, 5],
  ]);
  const byBytes = pieces([100, 100, 100, 100], 1, { datums: 9, bytes: 12_000 });
  expect(byBytes).toEqual([
    [0, 1],
    [2, 3],
  ]);
  expect(() => pieces([1000], 1, { datums: 9, bytes: 12_000 })).toThrow('make responses shorter');
});
