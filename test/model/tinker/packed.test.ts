import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import type { TrainSequence } from '../../../model/engine.ts';
import { isPacked, packedBody, packedLogProbs } from '../../../model/tinker/packed.ts';
import { TinkerTrainer } from '../../../model/tinker/trainer.ts';
import {
  baseTable,
  summing,
  type TinkerServer,
  tableLogProb,
  tinkerServer,
  VOCABULARY,
} from '../../support/tinkerServer.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** With a prompt and, in the middle, a result that is not trained on. */
function sequence(seed: number, length: number): TrainSequence {
  const some = (i: number): number => Math.sin((seed + 1) * 78.233 + i);
  const tokens = Int32Array.from(
    { length },
    (_, i) => Math.abs(Math.floor(some(i) * VOCABULARY)) % VOCABULARY,
  );
  return {
    tokens,
    mask: Uint8Array.from({ length }, (_, i) => (i > 2 && i % 7 !== 3 ? 1 : 0)),
    advantages: Float32Array.from({ length }, (_, i) => some(3 * i) / 3),
    oldLogProbs: Float32Array.from(tokens, (token, i) =>
      i === 0 ? 0 : tableLogProb(baseTable(), tokens[i - 1]!, token) + some(5 * i) / 4,
    ),
  };
}

const sequences = [sequence(1, 19), sequence(2, 8), sequence(3, 30)];

async function trained(packed: boolean): Promise<TinkerServer> {
  const server = await tinkerServer({ ...summing, packed });
  closing.push(() => server.close());
  const trainer = await TinkerTrainer.create({
    ...{ url: server.url, policy: 'table', clock: sleepClock(systemClock) },
    limits: { datums: 2, bytes: 1e6 },
  });
  closing.push(() => trainer.close());
  server.steps.splice(0);
  await trainer.step({ sequences, loss: { name: 'clipped' }, lr: 0.01 });
  await trainer.step({ sequences: sequences.toReversed(), loss: { name: 'cispo' }, lr: 0.02 });
  await trainer.step({ sequences, loss: { name: 'sft' }, lr: 0.02 });
  return server;
}

describe('packed numbers', () => {
  test('train the same weights as JSON, bit for bit, and no pass is written as text', async () => {
    const [packed, json] = [await trained(true), await trained(false)];
    expect(packed.steps).toHaveLength(3);
    expect(packed.steps).toEqual(json.steps);
    const weights = ({ models }: TinkerServer) => [...models.values()].at(-1)!.weights;
    expect(weights(packed)).toEqual(weights(json));
    const passes = ({ seen }: TinkerServer) =>
      seen.filter(({ route, body }) => route.startsWith('forward') && body.packed === true).length;
    expect([passes(packed) >= 10, passes(json)]).toEqual([true, 0]);
  });

  test('have their tokens once, and values at the places of targets alone', () => {
    const values = { places: [2, 4], advantages: [0.5, -0.25], logProbs: [-1, -2], weights: null };
    const body = packedBody({
      ...{ route: 'forward_backward', modelId: 'm', number: 7, lossFn: 'importance_sampling' },
      data: [{ tokens: Int32Array.of(9, 8, 7, 6, 5, 4), values }],
    });
    expect(isPacked(body)).toBe(true);
    const view = new DataView(body.buffer);
    const at = 12 + view.getUint32(8, true);
    const head = JSON.parse(Buffer.from(body.subarray(12, at)).toString());
    expect(head).toEqual({
      ...{ model_id: 'm', seq_id: 7, type: 'forward_backward', loss_fn: 'importance_sampling' },
      ...{ lengths: [4], tensors: ['weights', 'advantages', 'logprobs'] },
    });
    const numbers = (from: number, count: number) => [
      ...new Float32Array(body.buffer.slice(from, from + 4 * count)),
    ];
    expect([...new Int32Array(body.buffer.slice(at, at + 20))]).toEqual([9, 8, 7, 6, 5]);
    expect(numbers(at + 20, 4)).toEqual([0, 1, 0, 1]);
    expect(numbers(at + 36, 4)).toEqual([0, 0.5, 0, -0.25]);
    expect(numbers(at + 52, 4)).toEqual([0, -1, 0, -2]);
    expect(body.length).toBe(at + 68);
  });

  test('of another length than they name are no reply', () => {
    const reply = (length: number): Uint8Array => {
      const head = `{"lengths":[${length}]}`.padEnd(16);
      const bytes = new Uint8Array(12 + 16 + 8);
      bytes.set(Buffer.from(`MILLPAK1\x10\0\0\0${head}`, 'latin1'));
      bytes.set(new Uint8Array(Float32Array.of(-1, -0.5).buffer), 28);
      return bytes;
    };
    expect(packedLogProbs(reply(2))?.map((one) => [...one])).toEqual([[-1, -0.5]]);
    expect(packedLogProbs(reply(3))).toBeNull();
  });
});
