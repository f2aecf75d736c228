/**
 * The training service of `trainer/` on two processes and a real chat model, SmolLM2-135M-Instruct: its
 * steps, resumes and restarts, beside the embedded trainer, and one process beside two in bfloat16.
 * ourTrainer.long.test.ts has all losses, on tiny models.
 *
 * `MILLRACE_TRAINER_MODEL` names the model's folder (`npm run real-model`), `MILLRACE_TRAINER_PYTHON` a
 * Python with torch, transformers, peft and aiohttp. It takes 6 GB of memory and ten minutes.
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import type { SavedCheckpoint, StepReport, TrainerEngine } from '../../../model/engine.ts';
import { loadAdapterFile } from '../../../model/hf/publishedAdapter.ts';
import { TinkerTrainer } from '../../../model/tinker/trainer.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { passing } from '../../support/passing.ts';
import { adam, apart, batchOf, losses, type Scored } from '../../support/serviceSteps.ts';
import {
  killed,
  startTrainer,
  type TrainerService,
  trainerPython,
} from '../../support/trainerService.ts';

const model = process.env.MILLRACE_TRAINER_MODEL ?? '';
const missing = [
  existsSync(join(model, 'config.json')) ? '' : 'MILLRACE_TRAINER_MODEL names no model',
  trainerPython === '' ? 'MILLRACE_TRAINER_PYTHON names no Python' : '',
].filter((each) => each !== '');
const where = missing.length > 0 ? describe.skip : describe;
const reason = missing.length > 0 ? `skipped: ${missing.join(', ')}` : 'two processes';
const MINUTES = 10 * 60_000;
const LR = 1e-5;
const settings = { ...adam, eps: 1e-8, gradNormMax: 1e9 };

/** Beginnings of texts; one process computes the longest, the other the rest. */
const LENGTHS = [24, 17, 30];
const recorded: {
  readonly training: { readonly sequences: readonly { readonly ids: readonly number[] }[] };
} = JSON.parse(readFileSync(new URL('../realModel.json', import.meta.url), 'utf8'));
const tokens = recorded.training.sequences.map(({ ids }, row) =>
  Int32Array.from(ids.slice(0, LENGTHS[row])),
);

interface Made {
  readonly report: StepReport;
  readonly after: readonly Scored[];
}

where.each([
  ['all weights', 0],
  ['an adapter', 8],
] as const)(`the training service with a real model, ${reason}, %s`, (_, rank) => {
  let folder: string;
  let service: TrainerService;
  let between: Awaited<ReturnType<typeof passing>>;
  let trainer: TinkerTrainer;
  let first: SavedCheckpoint;
  let untrained: readonly Scored[];
  const made = new Map<string, Made>();
  const said: string[] = [];
  const start = () => ({
    ...{ model, ranks: 2, checkpoints: join(folder, 'checkpoints') },
    more: ['--precision', 'float32'],
  });
  const step = async (on: TrainerEngine, name: string): Promise<Made> => {
    const sequences = batchOf(tokens, untrained);
    const report = await on.step({ sequences, loss: losses[name]!, lr: LR });
    return { report, after: await on.score(tokens) };
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-real-trainer-'));
    service = await startTrainer(start());
    between = await passing(Number(new URL(service.url).port));
    trainer = await TinkerTrainer.create({
      ...{ url: between.url, policy: model, clock: sleepClock(systemClock), adam: settings },
      ...{ rank, seed: 7, reduction: 'sum', print: (line) => said.push(line) },
    });
    first = await trainer.save({ version: 0, folder });
    untrained = await trainer.score(tokens);
  }, MINUTES);

  afterAll(async () => {
    await between.close();
    await service.kill();
    await rm(folder, { recursive: true, force: true });
  }, MINUTES);

  test(
    'a rank or all of it killed in the middle of a step changes no weights',
    async () => {
      made.set('sft', await step(trainer, 'sft'));
      const saved = await trainer.save({ version: 1, folder });
      const wanted = await step(trainer, 'clipped policy loss');
      for (const [route, kill] of [
        // torchrun starts its ranks again
        ['optim_step', () => killed(service.pids(1).at(-1)!)],
        ['forward_backward', () => startedAgain()],
      ] as const) {
        await trainer.restore(saved, 'train');
        between.before(route, kill);
        const { after } = await step(trainer, 'clipped policy loss');
        expect(after).toEqual(wanted.after);
      }
      expect(said.filter((line) => line.endsWith('is loaded again'))).toHaveLength(2);
    },
    MINUTES,
  );

  test(
    'the first state is still there to the bit',
    async () => {
      await trainer.restore(first, 'train');
      expect(await trainer.score(tokens)).toEqual(untrained);
      made.set('clipped policy loss', await step(trainer, 'clipped policy loss'));
    },
    MINUTES,
  );

  /** All of it is killed; the next one is started meanwhile. */
  async function startedAgain(): Promise<void> {
    const port = Number(new URL(service.url).port);
    await service.kill();
    void startTrainer({ ...start(), port }).then((next) => {
      service = next;
    });
  }

  test(
    'its steps are those of the embedded trainer',
    async () => {
      await trainer.close();
      await service.kill();
      const { uri, digest } = first.weights;
      const adapter = rank === 0 ? null : await loadAdapterFile(uri, digest ?? '');
      for (const [name, theirs] of made) {
        const own = await EmbeddedTrainer.create({
          ...{ policy: model, settings },
          ...(adapter === null ? {} : { adapter: { adapter, publish: 'adapter' } }),
        });
        const before = await own.score(tokens);
        // to float64 PyTorch's float32 has 4e-5 nats here, the embedded trainer 2e-5
        expect(apart(untrained, before)).toBeLessThan(1e-4);
        const ours = await step(own, name);
        await own.close();
        const off = (of: 'loss' | 'gradNorm') => Math.abs(theirs.report[of] / ours.report[of] - 1);
        expect(off('loss')).toBeLessThan(2e-5);
        // PyTorch adds a norm up in float32
        expect(off('gradNorm')).toBeLessThan(1e-4);
        expect(apart(theirs.after, ours.after)).toBeLessThan(5e-4 * apart(ours.after, before));
      }
    },
    MINUTES,
  );
});

where(`the training service with a real model, ${reason}, bfloat16`, () => {
  /** Log-probs before training, and two steps. */
  async function trained(ranks: number, rank: number) {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-real-trainer-'));
    const service = await startTrainer({ model, ranks, checkpoints: join(folder, 'checkpoints') });
    const trainer = await TinkerTrainer.create({
      ...{ url: service.url, policy: model, clock: sleepClock(systemClock), adam: settings },
      ...{ rank, seed: 7, reduction: 'sum' },
    });
    const before = await trainer.score(tokens);
    const sequences = batchOf(tokens, before);
    const step = () => trainer.step({ sequences, loss: losses.sft!, lr: rank === 0 ? LR : 1e-3 });
    const reports = [await step(), await step()] as const;
    await trainer.close();
    await service.kill();
    await rm(folder, { recursive: true, force: true });
    return { before, reports };
  }

  test.each([
    ['all weights', 0],
    ['an adapter', 8],
  ] as const)(
    '%s: two ranks compute what one does, near float32',
    async (_, rank) => {
      const own = await EmbeddedTrainer.create({ policy: model });
      const exact = await own.score(tokens);
      await own.close();
      const [one, two] = [await trained(1, rank), await trained(2, rank)];
      expect(apart(one.before, exact)).toBeLessThan(0.5);
      expect(apart(one.before, two.before)).toBeLessThan(0.02);
      const [[first], [theirs]] = [one.reports, two.reports];
      expect(theirs.loss).toBeCloseTo(first.loss, 3);
      // gradients of micro-batches are rounded to bfloat16 before they are added up
      expect(Math.abs(theirs.gradNorm / first.gradNorm - 1)).toBeLessThan(1e-3);
      for (const { reports } of [one, two])
        expect(reports[1].loss).toBeLessThan(reports[0].loss - 0.1);
    },
    MINUTES,
  );
});
