/**
 * A step on a real training service equals ours: `MILLRACE_TINKER=http://127.0.0.1:8201 npm test -- test/model/tinker/skyrl`. The service
 * runs on this machine (docs/tinker.md says how to start it), so that the folder it names as its base model can be read.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { draws } from '../../../base/draws.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import { loadAdapterFile } from '../../../model/adapterFile.ts';
import type { Loss, SavedCheckpoint, TrainSequence } from '../../../model/engine.ts';
import type { LoraAdapter } from '../../../model/hf/lora.ts';
import { TinkerTrainer } from '../../../model/tinker/trainer.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';

const url = process.env.MILLRACE_TINKER ?? '';
const where = url === '' ? describe.skip : describe;
const reason = url === '' ? 'skipped: MILLRACE_TINKER names no training service' : url;

const adam = { beta1: 0.9, beta2: 0.95, eps: 1e-12, weightDecay: 0.01 };
const MINUTES = 15 * 60_000;

/** Lengths in one class of what a service compiles for. */
const LENGTHS = [24, 17, 30, 12];

const losses: Readonly<Record<string, Loss>> = {
  sft: { name: 'sft' },
  'clipped policy loss': { name: 'clipped', settings: { clipHigh: 0.28, clipC: 1e6 } },
  'dual-clipped policy loss': { name: 'clipped', settings: { clipC: 1.5 } },
  'policy loss with a KL': { name: 'clipped', settings: { kl: { coefficient: 0.1 } } },
  gspo: { name: 'gspo', settings: { clipLow: 0.2, clipHigh: 0.3 } },
  dpo: { name: 'dpo', settings: { beta: 0.5 } },
};

where(`a step on a training service (${reason})`, () => {
  let trainer: TinkerTrainer;
  let policy: string;
  let first: SavedCheckpoint;
  let adapter: LoraAdapter;
  let folder: string;
  const said: string[] = [];

  beforeAll(async () => {
    const reply = await fetch(`${url}/api/v1/get_server_capabilities`);
    const { supported_models: models } = (await reply.json()) as {
      readonly supported_models: readonly { readonly model_name: string }[];
    };
    policy = models[0]!.model_name;
    folder = await mkdtemp(join(tmpdir(), 'millrace-skyrl-'));
    const clock = sleepClock(systemClock);
    const print = (line: string) => said.push(line);
    trainer = await TinkerTrainer.create({ ...{ url, policy, clock, print, adam }, seed: 7 });
    first = await trainer.save({ version: 0, folder });
    adapter = (await loadAdapterFile(first.weights.uri, first.weights.digest ?? ''))!;
  }, MINUTES);

  afterAll(async () => {
    await trainer.close();
    await rm(folder, { recursive: true, force: true });
  }, MINUTES);

  const embedded = () =>
    EmbeddedTrainer.create({
      policy,
      adapter: { adapter, publish: 'adapter' },
      settings: { ...adam, gradNormMax: 1e9 },
    });

  test('an adapter comes with all its modules', () => {
    expect(new Set([...adapter.modules.keys()].map((name) => name.split('.').at(-1))).size).toBe(7);
    expect(adapter).toMatchObject({ rank: 8, base: policy });
  });

  test.each(Object.keys(losses))(
    'equals ours: %s',
    async (name) => {
      await trainer.restore(first, 'train');
      const own = await embedded();
      const { vocabSize } = own.config;
      const tokens = LENGTHS.map((length, row) =>
        Int32Array.from({ length }, (_, i) => draws('skyrl', row).integer(i, vocabSize)),
      );
      const before = await own.score(tokens);
      expect(apart(await trainer.score(tokens), before)).toBeLessThan(1e-5);
      const batch = tokens.map((each, row): TrainSequence => {
        const moved = (far: number, key: string) =>
          before[row]!.logProbs.map((v, i) => v + far * (draws(key, row).uniform(i) - 0.5));
        return {
          tokens: each,
          mask: Uint8Array.from(each, (_, i) => (i > 4 && i % 5 > 0 ? 1 : 0)),
          advantages: Float32Array.from(each, (_, i) => 2 * draws('adv', row).uniform(i) - 1),
          oldLogProbs: moved(1.2, 'old'),
          refLogProbs: moved(1, 'ref'),
        };
      });
      const step = { sequences: batch, loss: losses[name]!, lr: 1e-3 };
      const [theirs, ours] = [await trainer.step(step), await own.step(step)];
      expect(Math.abs(theirs.gradNorm / ours.gradNorm - 1)).toBeLessThan(1e-5);
      expect(Math.abs(theirs.loss - ours.loss)).toBeLessThan(1e-4);
      for (const [number, value] of Object.entries(ours.numbers))
        expect(theirs.numbers[number]).toBeCloseTo(value, 4);
      const after = await own.score(tokens);
      expect(apart(await trainer.score(tokens), after)).toBeLessThan(1e-5);
      expect(apart(after, before)).toBeGreaterThan(0.1);
      await own.close();
    },
    MINUTES,
  );

  test(
    'a saved state is gone on from to the bit, and the sampler has what was trained',
    async () => {
      const saved = await trainer.save({ version: 1, folder });
      const tokens = [Int32Array.from({ length: 20 }, (_, i) => 3 * i + 1)];
      const [now] = await trainer.score(tokens);
      await trainer.restore(first, 'train');
      await trainer.restore(saved, 'train');
      const [back] = await trainer.score(tokens);
      expect([...back!.logProbs]).toEqual([...now!.logProbs]);
      const engine = trainer.sampler({ contextMax: 64 });
      await engine.load({ version: 1, uri: saved.state!.uri, digest: null });
      const request = {
        maxTokens: 8,
        stopTokens: [],
        draws: ['x'],
        temperature: 1,
        topLogProbs: 0,
      };
      const made = await engine.generate({ ...request, tokens: tokens[0]! });
      expect(made.tokens).toHaveLength(8);
      const [scored] = await trainer.score([Int32Array.of(...tokens[0]!, ...made.tokens)]);
      for (const [i, logProb] of made.logProbs.entries())
        expect(logProb).toBeCloseTo(scored!.logProbs[20 + i]!, 4);
      await engine.close();
    },
    MINUTES,
  );

  test(
    'a rank that the service does not make is its own words',
    async () => {
      const wrong = TinkerTrainer.create({
        ...{ url, policy, clock: sleepClock(systemClock), rank: 4096 },
      });
      await expect(wrong).rejects.toMatchObject({ code: 'TRAINER_REFUSED' });
    },
    MINUTES,
  );

  test('nothing was lost meanwhile', () => {
    expect(said).toEqual([]);
  });
});

function apart(
  one: readonly { readonly logProbs: Float32Array }[],
  other: readonly { readonly logProbs: Float32Array }[],
): number {
  return Math.max(
    ...one.flatMap(({ logProbs }, row) =>
      [...logProbs].map((value, i) => Math.abs(value - other[row]!.logProbs[i]!)),
    ),
  );
}
