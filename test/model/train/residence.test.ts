/** What a learner puts on its device, and for how long; on a device that only keeps count. */
import { expect, test } from '@jest/globals';
import { type DecoderConfig, initialise } from '../../../model/config.ts';
import type { TrainBatch } from '../../../model/engine.ts';
import { initialAdapter } from '../../../model/hf/lora.ts';
import type { Device } from '../../../model/runtime/device.ts';
import type { Feed, Feeds, Inputs, Kept } from '../../../model/runtime/session.ts';
import { adapterTensors, Learner, type Trainee } from '../../../model/train/learner.ts';
import { trainerDefaults } from '../../../model/train/trainer.ts';

const config: DecoderConfig = {
  architecture: 'llama',
  vocabSize: 12,
  hiddenSize: 8,
  layers: 1,
  heads: 2,
  kvHeads: 1,
  intermediateSize: 16,
  ropeTheta: 10_000,
  rmsEps: 1e-6,
  attentionBias: false,
  tiedEmbeddings: true,
};
const tensors = initialise(config, 1);
const adapter = initialAdapter(config, { rank: 2, alpha: 4, targets: ['q_proj'] }, 1);
const factors = [...adapterTensors(adapter).keys()];
const base = [...tensors.keys()];

/** Sessions that find every gradient to be 1. */
class CountingDevice implements Device {
  readonly provider = 'webgpu';
  /** Names of what is on the device, by the order in which it came. */
  readonly held: string[][] = [];
  /** Everything that was ever put there. */
  readonly put: string[][] = [];

  async keep(feeds: Feeds): Promise<Kept> {
    const names = Object.keys(feeds);
    this.put.push(names);
    this.held.push(names);
    const release = async () => {
      this.held.splice(this.held.indexOf(names), 1);
    };
    return { feeds, release };
  }

  async open() {
    return {
      run: async (inputs: Inputs): Promise<Feeds> => {
        const fed = Object.keys(inputs);
        expect(fed).toEqual(expect.arrayContaining(base));
        const ones = ({ shape, data }: Feed) => ({
          shape,
          data: new Float32Array(data.length).fill(1),
        });
        const trained = fed.includes(factors[0]!) ? factors : base;
        const gradients = trained.map((name) => [`gradient:${name}`, ones(inputs[name] as Feed)]);
        const { shape, data } = inputs.targets as Feed;
        const judged = { shape, data: new Float32Array(data.length) };
        const loss = { shape: [], data: Float32Array.of(1) };
        return { loss, logProbs: judged, entropies: judged, ...Object.fromEntries(gradients) };
      },
      release: async () => undefined,
    };
  }

  close = async () => undefined;
}

const batch: TrainBatch = {
  sequences: [
    {
      tokens: Int32Array.of(1, 2, 3),
      mask: Uint8Array.of(0, 1, 1),
      advantages: new Float32Array(3),
      oldLogProbs: new Float32Array(3),
    },
  ],
  loss: { name: 'sft' },
  lr: 0.1,
};

function learner(trainee: Trainee) {
  const device = new CountingDevice();
  return { device, learner: new Learner(trainee, trainerDefaults, device) };
}

test('the policy under an adapter is copied to the device once, the adapter for every step', async () => {
  const { device, learner: trained } = learner({ config, tensors, adapter });
  await trained.step(batch);
  await trained.step(batch);
  await trained.score([Int32Array.of(1, 2)]);
  expect(device.put).toEqual([base, factors, factors, factors]);
  expect(device.held).toEqual([base]);
  await trained.close();
  expect(device.held).toEqual([]);
});

test('new weights under an adapter replace the old ones on the device', async () => {
  const { device, learner: trained } = learner({ config, tensors, adapter });
  await trained.step(batch);
  await trained.reset({ config, tensors, adapter }, null);
  await trained.step(batch);
  expect(device.put).toEqual([base, factors, factors]);
  await trained.reset({ config, tensors: initialise(config, 2), adapter }, null);
  expect(device.held).toEqual([]);
  await trained.step(batch);
  expect(device.put).toEqual([base, factors, factors, base, factors]);
  await trained.close();
});

test('a policy that is trained as a whole is copied to the device for every step, and leaves nothing', async () => {
  const { device, learner: trained } = learner({ config, tensors, adapter: null });
  await trained.step(batch);
  await trained.step(batch);
  expect(device.put).toEqual([base, base]);
  expect(device.held).toEqual([]);
  await trained.close();
});
