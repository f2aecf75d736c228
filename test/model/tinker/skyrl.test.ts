/**
 * A step on a real training service equals ours, and one of PyTorch and PEFT where there is a Python with
 * both (`MILLRACE_PYTHON`): `MILLRACE_TINKER=http://127.0.0.1:8201 npm test -- test/model/tinker/skyrl`. The
 * service runs on this machine (docs/tinker.md says how to start it), so that the folder it names as its base
 * model can be read. `MILLRACE_MEASURED=FILE` gets the differences.
 */
import { appendFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import type { SavedCheckpoint } from '../../../model/engine.ts';
import { writeAdapter } from '../../../model/hf/adapterFiles.ts';
import { openPolicy } from '../../../model/hf/loadPolicy.ts';
import type { LoraAdapter } from '../../../model/hf/lora.ts';
import { loadAdapterFile } from '../../../model/hf/publishedAdapter.ts';
import { TinkerTrainer } from '../../../model/tinker/trainer.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { yardstick } from '../../support/python.ts';
import { adam, apart, batchOf, drawn, losses, type Scored } from '../../support/serviceSteps.ts';

const script = fileURLToPath(new URL('torchStep.py', import.meta.url));
const withPeft = yardstick(['torch', 'transformers', 'peft']);
const url = process.env.MILLRACE_TINKER ?? '';
const where = url === '' ? describe.skip : describe;
const reason = url === '' ? 'skipped: MILLRACE_TINKER names no training service' : url;

const MINUTES = 15 * 60_000;

const LR = 1e-3;

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

  test('the adapter has all its modules', () => {
    expect(new Set([...adapter.modules.keys()].map((name) => name.split('.').at(-1))).size).toBe(7);
    expect(adapter).toMatchObject({ rank: 8, base: policy });
  });

  test.each(Object.keys(losses))(
    'equals the embedded trainer: %s',
    async (name) => {
      await trainer.restore(first, 'train');
      const own = await embedded();
      const tokens = drawn(own.config.vocabSize);
      const before = await own.score(tokens);
      expect(apart(await trainer.score(tokens), before)).toBeLessThan(1e-5);
      const step = { sequences: batchOf(tokens, before), loss: losses[name]!, lr: LR };
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
    'a saved state is resumed to the bit, and the sampler has what was trained',
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
    'a rank that the service refuses is reported in its own words',
    async () => {
      const wrong = TinkerTrainer.create({
        ...{ url, policy, clock: sleepClock(systemClock), rank: 4096 },
      });
      await expect(wrong).rejects.toMatchObject({ code: 'TRAINER_REFUSED' });
    },
    MINUTES,
  );

  test('no request was lost meanwhile', () => {
    expect(said).toEqual([]);
  });

  // Last: while Python runs this process stands still, and the service closes connections that nobody uses.
  // Losses as torchStep.py names them, with its names of their settings.
  for (const [name, loss, settings] of [
    ['sft', 'sft', {}],
    ['clipped policy loss', 'clipped', { high: 0.28, dual: 1e6 }],
    ['dual-clipped policy loss', 'clipped', { dual: 1.5 }],
    ['dpo', 'dpo', { beta: 0.5 }],
  ] as const)
    withPeft(`equals PyTorch with PEFT: ${name}`, async (python) => {
      await trainer.restore(first, 'train');
      const source = await openPolicy(policy);
      const tokens = drawn(source.config.vocabSize);
      await source.close();
      const before = await trainer.score(tokens);
      const sequences = batchOf(tokens, before);
      const file = join(folder, 'asked.json');
      const peft = join(folder, `${name}.peft`);
      await writeAdapter(peft, adapter);
      const asked = { policy, adapter: peft, adam, lr: LR, loss, settings };
      const plain = sequences.map((each) =>
        Object.fromEntries(Object.entries(each).map(([key, values]) => [key, [...values]])),
      );
      await writeFile(file, JSON.stringify({ ...asked, sequences: plain }));
      const torch = python.run(script, file) as TorchStep;
      const step = await trainer.step({ sequences, loss: losses[name]!, lr: LR });
      const after = await trainer.score(tokens);
      const measured = {
        name,
        before: apart(before, scored(torch.before)),
        loss: Math.abs(step.loss - torch.loss),
        gradNorm: Math.abs(step.gradNorm / torch.gradNorm - 1),
        after: apart(after, scored(torch.after)),
        moved: apart(after, before),
      };
      if (process.env.MILLRACE_MEASURED)
        appendFileSync(process.env.MILLRACE_MEASURED, `${JSON.stringify(measured)}\n`);
      expect(measured.before).toBeLessThan(1e-5);
      expect(measured.loss).toBeLessThan(1e-4);
      expect(measured.gradNorm).toBeLessThan(1e-5);
      expect(measured.after).toBeLessThan(1e-5);
      expect(measured.moved).toBeGreaterThan(0.1);
    });
});

/** What torchStep.py prints; log-probs of all tokens but the first. */
interface TorchStep {
  readonly before: readonly (readonly number[])[];
  readonly after: readonly (readonly number[])[];
  readonly loss: number;
  readonly gradNorm: number;
}

const scored = (rows: readonly (readonly number[])[]): Scored[] =>
  rows.map((row) => ({ logProbs: Float32Array.of(0, ...row) }));
