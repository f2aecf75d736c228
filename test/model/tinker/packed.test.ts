import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import type { Loss, TrainSequence } from '../../../model/engine.ts';
import { isPacked, packedBody, packedLogProbs, packedSums } from '../../../model/tinker/packed.ts';
import { TinkerTrainer } from '../../../model/tinker/trainer.ts';
import {
  baseTable,
  summing,
  type TinkerDialect,
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

async function served(
  given: Partial<TinkerDialect>,
): Promise<{ readonly server: TinkerServer; readonly trainer: TinkerTrainer }> {
  const server = await tinkerServer({ ...summing, ...given });
  closing.push(() => server.close());
  const trainer = await TinkerTrainer.create({
    ...{ url: server.url, policy: 'table', clock: sleepClock(systemClock) },
    limits: { datums: 2, bytes: 1e6 },
  });
  closing.push(() => trainer.close());
  server.steps.splice(0);
  return { server, trainer };
}

async function trained(packed: boolean): Promise<TinkerServer> {
  const { server, trainer } = await served({ packed });
  await trainer.step({ sequences, loss: { name: 'clipped' }, lr: 0.01 });
  await trainer.step({ sequences: sequences.toReversed(), loss: { name: 'cispo' }, lr: 0.02 });
  await trainer.step({ sequences, loss: { name: 'sft' }, lr: 0.02 });
  return server;
}

describe('a loss that the service has', () => {
  /** Requests for log-probs of the batch; those of a probe are few tokens. */
  const forwards = ({ seen }: TinkerServer): number =>
    seen.filter(
      ({ route, body }) =>
        route === 'forward' && body.forward_input.data[0].model_input.chunks[0].tokens.length > 15,
    ).length;
  /** Ratios below, within and above the bounds, and above the dual clip. */
  const losses: readonly Loss[] = [
    { name: 'clipped' },
    { name: 'clipped', settings: { clipC: 1.1, clipLow: 0.05, clipHigh: 0.1 } },
    { name: 'clipped', settings: { clipHigh: 0.05, aepo: { clipping: true } } },
    { name: 'cispo', settings: { clipLow: 0.1, clipHigh: 0.1 } },
  ];

  test.each(losses)('%j is trained in one pass as in two', async (loss) => {
    const once = await served({ packed: true, losses: ['clipped', 'cispo'] });
    const twice = await served({ packed: true });
    const reports = [];
    for (const { trainer } of [once, twice])
      reports.push([
        await trainer.step({ sequences, loss, lr: 0.01 }),
        await trainer.step({ sequences: sequences.toReversed(), loss, lr: 0.02 }),
      ]);
    const [first, second] = reports.map((steps) => steps.map(({ ms: _, ...report }) => report));
    for (const [i, report] of first!.entries()) {
      expect(report.applied).toBe(true);
      expect(report.loss).toBeCloseTo(second![i]!.loss, 6);
      expect(report.gradNorm).toBeCloseTo(second![i]!.gradNorm, 6);
      for (const [name, number] of Object.entries(report.numbers))
        expect(number).toBeCloseTo(second![i]!.numbers[name]!, 6);
    }
    expect(first![0]!.numbers['clip/fraction']).toBeGreaterThan(0);
    const weights = ({ models }: TinkerServer) => [...models.values()].at(-1)!.weights;
    const [ours, theirs] = [weights(once.server), weights(twice.server)];
    for (const [i, weight] of ours.entries()) expect(weight).toBeCloseTo(theirs[i]!, 6);
  });

  test('takes no forward pass, and two where a term is added that it has not', async () => {
    const { server, trainer } = await served({ packed: true, losses: ['clipped'] });
    const counts: number[] = [];
    const step = async (loss: Loss): Promise<void> => {
      const withReference = sequences.map((one) => ({ ...one, refLogProbs: one.oldLogProbs }));
      await trainer.step({ sequences: withReference, loss, lr: 0.01 });
      counts.push(forwards(server));
    };
    await step({ name: 'clipped' });
    await step({ name: 'clipped', settings: { kl: { kind: 'k3', coefficient: 0.1 } } });
    await step({ name: 'cispo' });
    expect(counts).toEqual([0, 2, 4]);
  });
});

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

describe('sums', () => {
  const reply = (head: object): Uint8Array => {
    const text = Buffer.from(JSON.stringify(head));
    const start = Buffer.alloc(12);
    start.write('MILLPAK1');
    start.writeUInt32LE(text.length, 8);
    return new Uint8Array(Buffer.concat([start, text]));
  };
  const sums = { loss: 1, tokens: 2, clipped: 0, drift: -0.5, apart: 0.5, apart_max: 0.25 };

  test('that are not finite come as null, and are NaN', () => {
    expect(packedSums(reply(sums))).toMatchObject({ loss: 1, tokens: 2, apartMax: 0.25 });
    expect(packedSums(reply({ ...sums, loss: null }))?.loss).toBeNaN();
  });

  test('that are missing make a reply useless', () => {
    const { apart: _, ...less } = sums;
    for (const odd of [reply(less), reply({ lengths: [2] }), Buffer.from('{}'), Buffer.alloc(0)])
      expect(packedSums(odd)).toBeNull();
  });
});
