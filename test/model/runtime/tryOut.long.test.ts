import { afterAll, describe, expect, test } from '@jest/globals';
import type { DecoderConfig } from '../../../model/config.ts';
import { initialAdapter } from '../../../model/hf/lora.ts';
import { generationTrial } from '../../../model/rollout/trial.ts';
import { cpuDevice, type Device } from '../../../model/runtime/device.ts';
import type { Provider } from '../../../model/runtime/provider.ts';
import type { Feed, Feeds } from '../../../model/runtime/session.ts';
import { furthest, tryOut } from '../../../model/runtime/tryOut.ts';
import { trainerDefaults } from '../../../model/train/trainer.ts';
import { trainingTrials } from '../../../model/train/trials.ts';
import { TINY } from '../rollout/tinyPolicy.ts';
import { graphRunner } from './graphRunner.ts';

const runner = graphRunner();
afterAll(() => runner.close());

const cpu: Device = { ...cpuDevice, open: runner.open };

/** A device whose sessions compute as the CPU does, except for what `change` does to the outputs. */
function device(provider: Provider, change: (outputs: Feeds) => Feeds): Device {
  return {
    ...cpu,
    provider,
    async open(model, options) {
      const session = await cpu.open(model, options);
      return { ...session, run: async (inputs) => change(await session.run(inputs)) };
    },
  };
}

const scaled = (factor: number, wrong: (name: string) => boolean) => (outputs: Feeds) =>
  Object.fromEntries(
    Object.entries(outputs).map(([name, feed]): [string, Feed] => [
      name,
      wrong(name) ? { ...feed, data: Float32Array.from(feed.data, (x) => x * factor) } : feed,
    ]),
  );

const QWEN3: DecoderConfig = {
  ...TINY,
  architecture: 'qwen3',
  headDim: 12,
  attentionBias: false,
  qkNorm: true,
};
const WIDE: DecoderConfig = { ...TINY, vocabSize: 9000, tiedEmbeddings: false, kvHeads: 4 };
const adapter = initialAdapter(TINY, { rank: 3, alpha: 6, targets: ['q_proj', 'down_proj'] }, 1);

/** All trials of a network, or those of these names. */
const trials = (config: DecoderConfig, ...names: readonly string[]) =>
  [generationTrial(config), ...trainingTrials(config, trainerDefaults, null)].filter(
    ({ name }) => names.length === 0 || names.includes(name),
  );

describe('the trial of a device', () => {
  test.each([
    ['Qwen2', trials(TINY)],
    ['Qwen3', trials(QWEN3, 'generation', 'training (sft)')],
    ['a vocabulary in chunks', trials(WIDE, 'scoring')],
  ])('passes a device that computes what the CPU does (%s)', async (_, tried) => {
    const same = device('webgpu', (outputs) => outputs);
    await expect(tryOut(same, tried, cpu)).resolves.toBeUndefined();
  });

  test('passes a device that rounds differently', async () => {
    const rounding = device(
      'webgpu',
      scaled(1 + 2e-6, () => true),
    );
    await expect(
      tryOut(rounding, trials(TINY, 'generation', 'training (sft)'), cpu),
    ).resolves.toBeUndefined();
  });

  test.each([
    ['shares', 'generation', 'probabilities'],
    ['newValues.1', 'generation', 'values of the prompt in layer 1'],
    ['entropies', 'scoring', 'entropies of sequence 0'],
    [
      'gradient:model.layers.1.self_attn.k_proj.weight',
      'training (sft)',
      'gradient of model.layers.1.self_attn.k_proj.weight',
    ],
    ['embeddedGradient', 'training (sft)', 'gradient of model.embed_tokens.weight'],
  ])('refuses and names an error of a thousandth in %s', async (output, graph, name) => {
    const wrong = device(
      'webgpu',
      scaled(1.001, (found) => found === output),
    );
    await expect(tryOut(wrong, trials(TINY, graph), cpu)).rejects.toMatchObject({
      code: 'PROVIDER',
      message: expect.stringMatching(
        /^the provider webgpu computes .* wrongly: .* by 0\.00\d+ of its largest number.*provider=cpu \(docs\/gpu\.md\)$/,
      ),
      context: { provider: 'webgpu', graph, output: name, difference: expect.any(Number) },
    });
  });

  test('tries an adapter if one is trained', async () => {
    const trained = trainingTrials(TINY, trainerDefaults, adapter).slice(0, 2);
    await expect(
      tryOut(
        device('cuda', (outputs) => outputs),
        trained,
        cpu,
      ),
    ).resolves.toBeUndefined();
    const name = 'model.layers.1.self_attn.q_proj.lora_A.weight';
    const wrong = device(
      'cuda',
      scaled(2, (found) => found === `gradient:${name}`),
    );
    await expect(tryOut(wrong, trained, cpu)).rejects.toMatchObject({
      context: { output: `gradient of ${name}` },
    });
  });

  test('refuses a device that cannot run a graph, with its error', async () => {
    const lacking = device('coreml', () => {
      throw new Error('kernel not found');
    });
    await expect(tryOut(lacking, trials(TINY, 'scoring'), cpu)).rejects.toMatchObject({
      code: 'PROVIDER',
      message: expect.stringContaining('coreml cannot be used here: kernel not found; it needs'),
    });
  });
});

describe('the largest deviation', () => {
  const outcome = (numbers: Record<string, number[]>) => new Map(Object.entries(numbers));

  test('is relative to the largest number of each output', () => {
    const want = outcome({ large: [1000, 0], small: [0.001, 0.002] });
    const got = outcome({ large: [1000.1, 0], small: [0.001, 0.0021] });
    expect(furthest(want, got)).toEqual({ output: 'small', difference: expect.closeTo(0.05) });
  });

  test('is infinite for NaN, infinities and missing outputs', () => {
    const want = outcome({ a: [1, 2] });
    for (const got of [{ a: [1, Number.NaN] }, { a: [1, Number.POSITIVE_INFINITY] }, { b: [1, 2] }])
      expect(furthest(want, outcome(got as Record<string, number[]>)).difference).toBeNaN();
    expect(furthest(outcome({ a: [0] }), outcome({ a: [0] })).difference).toBe(0);
    expect(furthest(outcome({ a: [0] }), outcome({ a: [1e-9] })).difference).toBe(
      Number.POSITIVE_INFINITY,
    );
  });
});
