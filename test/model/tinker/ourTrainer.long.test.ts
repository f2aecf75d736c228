/**
 * The training service of `trainer/` on one and two processes, driven by our client: its steps equal those of
 * the embedded trainer, and a rank or all of it killed in the middle of a step changes no weights.
 *
 * `MILLRACE_TRAINER_PYTHON` names a Python with torch, transformers, peft and aiohttp.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import { digestAt } from '../../../model/checkpoints/digest.ts';
import type { SavedCheckpoint } from '../../../model/engine.ts';
import { loadAdapterFile } from '../../../model/hf/publishedAdapter.ts';
import { EmbeddedEngine } from '../../../model/rollout/embeddedEngine.ts';
import { TinkerTrainer, type TinkerTrainerOptions } from '../../../model/tinker/trainer.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { passing } from '../../support/passing.ts';
import { adam, apart, batchOf, drawn, losses, type Scored } from '../../support/serviceSteps.ts';
import {
  killed,
  makeTinyModel,
  startTrainer,
  type TrainerService,
  type TrainerStart,
  trainerPython,
} from '../../support/trainerService.ts';

const where = trainerPython === '' ? describe.skip : describe;
const reason =
  trainerPython === ''
    ? 'skipped: MILLRACE_TRAINER_PYTHON names no Python with torch, transformers, peft and aiohttp'
    : trainerPython;
const MINUTES = 10 * 60_000;
const LR = 1e-3;
const settings = { ...adam, gradNormMax: 1e9 };
const float32 = ['--precision', 'float32'];
/** Less than a request has, so that a rank computes several times and unlike the other. */
const small = ['--micro-batch-tokens', '40'];

let folder: string;
const models: Record<'qwen' | 'llama', string> = { qwen: '', llama: '' };
const services: TrainerService[] = [];

async function serving(start: Omit<TrainerStart, 'checkpoints'>): Promise<TrainerService> {
  const service = await startTrainer({ ...start, checkpoints: join(folder, 'checkpoints') });
  services.push(service);
  return service;
}

function trainerOn(
  service: { readonly url: string },
  policy: string,
  more: Partial<TinkerTrainerOptions> = {},
): Promise<TinkerTrainer> {
  const clock = sleepClock(systemClock);
  return TinkerTrainer.create({ ...{ url: service.url, policy, clock, adam, seed: 7 }, ...more });
}

/** Fine-tuning and a policy loss in turn, for a whole training. */
async function steps(trainer: TinkerTrainer, names: readonly string[]): Promise<void> {
  const tokens = drawn(64);
  for (const name of names) {
    const sequences = batchOf(tokens, await trainer.score(tokens));
    await trainer.step({ sequences, loss: losses[name]!, lr: LR });
  }
}

where(`the training service of trainer/ (${reason})`, () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-our-trainer-'));
    for (const kind of ['qwen', 'llama'] as const) {
      models[kind] = join(folder, kind);
      makeTinyModel(kind, models[kind]);
    }
  }, MINUTES);

  afterAll(async () => {
    for (const service of services) await service.kill();
    await rm(folder, { recursive: true, force: true });
  }, MINUTES);

  /** Log-probs after each step, by loss, of the first run with this model. */
  const after = new Map<string, readonly Scored[]>();

  describe.each([
    ['qwen', 1],
    ['qwen', 2],
    ['llama', 1],
    ['llama', 2],
  ] as const)('%s on %i ranks', (kind, ranks) => {
    let service: TrainerService;
    let trainer: TinkerTrainer;
    let first: SavedCheckpoint;
    const said: string[] = [];

    beforeAll(async () => {
      service = await serving({ model: models[kind], ranks, more: [...float32, ...small] });
      trainer = await trainerOn(service, models[kind], { print: (line) => said.push(line) });
      first = await trainer.save({ version: 0, folder });
    }, MINUTES);

    afterAll(async () => {
      await trainer.close();
      await service.kill();
    }, MINUTES);

    test('it adds losses up, knows repetitions and takes the optimiser’s settings', () => {
      expect(trainer.found).toMatchObject({ reduction: 'sum', deduplicates: true, adam: true });
    });

    test.each(Object.keys(losses))(
      'a step equals the embedded trainer’s: %s',
      async (name) => {
        await trainer.restore(first, 'train');
        const adapter = (await loadAdapterFile(first.weights.uri, first.weights.digest ?? ''))!;
        expect(adapter).toMatchObject({ rank: 8, alpha: 32 });
        const own = await EmbeddedTrainer.create({
          ...{ policy: models[kind], adapter: { adapter, publish: 'adapter' }, settings },
        });
        const tokens = drawn(64);
        const before = await own.score(tokens);
        expect(apart(await trainer.score(tokens), before)).toBeLessThan(1e-5);
        const step = { sequences: batchOf(tokens, before), loss: losses[name]!, lr: LR };
        const [theirs, ours] = [await trainer.step(step), await own.step(step)];
        expect(Math.abs(theirs.gradNorm / ours.gradNorm - 1)).toBeLessThan(1e-5);
        expect(Math.abs(theirs.loss - ours.loss)).toBeLessThan(1e-5);
        const [moved, wanted] = [await trainer.score(tokens), await own.score(tokens)];
        expect(apart(moved, wanted)).toBeLessThan(1e-5);
        expect(apart(wanted, before)).toBeGreaterThan(0.05);
        const key = `${kind} ${name}`;
        expect(apart(moved, after.get(key) ?? moved)).toBeLessThan(1e-5);
        after.set(key, moved);
        await own.close();
      },
      MINUTES,
    );

    test(
      'a saved state is resumed to the bit',
      async () => {
        const saved = await trainer.save({ version: 1, folder });
        const tokens = drawn(64);
        await steps(trainer, ['clipped policy loss']);
        const once = await trainer.score(tokens);
        await trainer.restore(first, 'train');
        await trainer.restore(saved, 'train');
        await steps(trainer, ['clipped policy loss']);
        expect(await trainer.score(tokens)).toEqual(once);
      },
      MINUTES,
    );

    test(
      'a second job learns that only one may run at a time, and finds room when the first has ended',
      async () => {
        await expect(trainerOn(service, models[kind], { awayMs: 0 })).rejects.toMatchObject({
          code: 'TRAINER_REFUSED',
          message: expect.stringContaining('one job at a time'),
        });
        expect(said).toEqual([]);
        await trainer.close();
        trainer = await trainerOn(service, models[kind]);
      },
      MINUTES,
    );
  });

  test(
    'all weights are trained as the embedded trainer does, and become a file of the run',
    async () => {
      const model = models.qwen;
      const service = await serving({ model, ranks: 2, more: [...float32, ...small] });
      const trainer = await trainerOn(service, model, { rank: 0, adam: settings });
      expect(trainer.found).toMatchObject({ adam: true, clips: true });
      const own = await EmbeddedTrainer.create({ policy: model, settings });
      const tokens = drawn(64);
      const first = await trainer.save({ version: 0, folder: join(folder, 'first') });
      const untrained = await trainer.score(tokens);
      // the padding token of tinyModel.py is trained too
      expect(tokens.some((each) => each.includes(7))).toBe(true);
      const before = await own.score(tokens);
      const loss = losses['dual-clipped policy loss']!;
      const step = { sequences: batchOf(tokens, before), loss, lr: LR };
      const [theirs, ours] = [await trainer.step(step), await own.step(step)];
      expect(Math.abs(theirs.gradNorm / ours.gradNorm - 1)).toBeLessThan(1e-5);
      const wanted = await own.score(tokens);
      expect(apart(await trainer.score(tokens), wanted)).toBeLessThan(1e-5);
      await trainer.restore(first, 'train');
      expect(await trainer.score(tokens)).toEqual(untrained);
      expect((await trainer.step(step)).gradNorm).toBe(theirs.gradNorm);
      const run = join(folder, 'full');
      const { weights, bytes } = await trainer.save({ version: 1, folder: run });
      await trainer.close();
      expect(await readdir(run)).toEqual(['000001.safetensors']);
      expect(await digestAt(weights.uri)).toBe(weights.digest);
      expect((await stat(weights.uri)).size).toBe(bytes);
      const engine = await EmbeddedEngine.create({
        ...{ weights, threads: 1, rowsMax: 2, contextMax: 64, clock: systemClock },
      });
      const context = tokens[0]!.subarray(0, 8);
      const asked = { maxTokens: 12, temperature: 1, stopTokens: [], topLogProbs: 0 };
      const said = await engine.generate({ ...asked, tokens: context, draws: ['full'] });
      const [scored] = await own.score([Int32Array.from([...context, ...said.tokens])]);
      expect(apart([said], [{ logProbs: scored!.logProbs.subarray(8) }])).toBeLessThan(1e-5);
      await Promise.all([own.close(), engine.close(), service.kill()]);
    },
    MINUTES,
  );

  /** Log-probs after three steps in bfloat16, of the first way. */
  let halved: readonly Scored[] | null = null;

  test.each([
    ['a rank', 1, []],
    ['two ranks with recomputed layers', 2, ['--gradient-checkpointing']],
  ] as const)(
    'bfloat16 on %s is near float32 and learns',
    async (_, ranks, more) => {
      const model = models.llama;
      const service = await serving({ model, ranks, more: [...more, ...small] });
      const trainer = await trainerOn(service, model);
      const own = await EmbeddedTrainer.create({ policy: model, settings });
      const tokens = drawn(64);
      const [before, exact] = [await trainer.score(tokens), await own.score(tokens)];
      expect(apart(before, exact)).toBeLessThan(0.5);
      const sequences = batchOf(tokens, exact);
      const reports = [];
      for (let i = 0; i < 3; i++)
        reports.push(await trainer.step({ sequences, loss: losses.sft!, lr: 1e-2 }));
      expect(reports[2]!.loss).toBeLessThan(reports[0]!.loss - 0.1);
      const after = await trainer.score(tokens);
      halved ??= after;
      expect(apart(after, before)).toBeGreaterThan(1);
      expect(apart(after, halved)).toBeLessThan(0.05);
      await Promise.all([trainer.close(), own.close()]);
      await service.kill();
    },
    MINUTES,
  );

  test(
    'what one rank saves, two go on from, and the other way',
    async () => {
      const model = models.qwen;
      const tokens = drawn(64);
      let saved: SavedCheckpoint | null = null;
      let said: readonly Scored[] = [];
      for (const ranks of [1, 2, 1]) {
        const service = await serving({ model, ranks, more: small });
        const trainer = await trainerOn(service, model);
        if (saved !== null) {
          await trainer.restore(saved, 'train');
          expect(apart(await trainer.score(tokens), said)).toBeLessThan(0.05);
        }
        await steps(trainer, ['sft']);
        said = await trainer.score(tokens);
        saved = await trainer.save({ version: ranks, folder: join(folder, `across-${ranks}`) });
        await trainer.close();
        await service.kill();
      }
    },
    MINUTES,
  );

  test(
    'a rank or all of it killed in the middle of a step changes no weights',
    async () => {
      const model = models.qwen;
      const start = { model, ranks: 2, more: float32 };
      let service = await serving(start);
      const port = Number(new URL(service.url).port);
      const names = ['sft', 'clipped policy loss', 'dpo', 'clipped policy loss'];
      const tokens = drawn(64);

      const calm = await trainerOn(service, model);
      await steps(calm, names);
      const wanted = await calm.score(tokens);
      await calm.close();

      const between = await passing(port);
      const said: string[] = [];
      const trainer = await trainerOn(between, model, { print: (line) => said.push(line) });
      await steps(trainer, names.slice(0, 1));
      await trainer.save({ version: 1, folder });
      await steps(trainer, names.slice(1, 2));
      // torchrun starts its ranks again
      between.before('optim_step', () => killed(service.pids(1).at(-1)!));
      await steps(trainer, names.slice(2, 3));
      expect(service.pids(1)).toHaveLength(2);
      expect(service.log).toMatch(/the service ends, with all of its ranks/);
      between.before('forward_backward', async () => {
        await service.kill();
        void serving({ ...start, port }).then((next) => {
          service = next;
        });
      });
      await steps(trainer, names.slice(3));
      expect(await trainer.score(tokens)).toEqual(wanted);
      expect(said.join('\n')).toMatch(/is loaded again, and the 2 steps since are repeated/);
      await trainer.close();
      await between.close();
      await service.kill();
    },
    MINUTES,
  );

  test(
    'a token is required, and is in no line of the log',
    async () => {
      const token = 'a-token-of-a-test';
      const service = await serving({ model: models.qwen, ranks: 1, token, more: float32 });
      await expect(trainerOn(service, models.qwen)).rejects.toMatchObject({
        code: 'TRAINER_ACCESS',
      });
      const health = await fetch(`${service.url}/healthz`);
      expect(await health.json()).toEqual({ status: 'ok' });
      const headers = { 'x-api-key': token };
      const metrics = await (await fetch(`${service.url}/metrics`, { headers })).text();
      expect(metrics).toMatch(/^millrace_trainer_ranks 1$/m);
      const { session_id } = await service.ask('create_session', {});
      const made = {
        session_id,
        model_seq_id: 1,
        base_model: models.qwen,
        lora_config: { rank: 2 },
      };
      const { model_id, request_id } = await service.ask('create_model', made);
      expect(await service.ask('create_model', made)).toMatchObject({ model_id, request_id });
      const asked = { model_id, seq_id: 1, path: 'one' };
      expect(await service.ask('save_weights', asked)).toMatchObject({ status: 200 });
      // the same request is answered as before, another one under its number or its name is not made
      expect(await service.ask('save_weights', asked)).toMatchObject({ status: 200 });
      for (const other of [
        { ...asked, path: 'two' },
        { ...asked, seq_id: 2 },
      ])
        expect(await service.ask('save_weights', other)).toMatchObject({ status: 409 });
      expect(await service.ask('asample', { model_id })).toMatchObject({
        status: 404,
        detail: expect.stringContaining('does not sample'),
      });
      expect(service.log).not.toContain(token);
      await service.kill();
    },
    MINUTES,
  );
});
