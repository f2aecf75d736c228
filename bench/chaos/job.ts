/**
 * The job that is killed: a calibration of single-digit sums in two rounds. Policy and tools are scripted,
 * the trainer is a fake whose weights are a digest of all that it was ever trained on, or the embedded one on
 * a decoder of a few thousand parameters. What the policy says follows from its version, the question and its
 * draws, never from timing.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { calibrate } from '../../jobs/calibrate/calibrate.ts';
import { type CalibrateSettings, calibrateSettings } from '../../jobs/calibrate/settings.ts';
import type { JobContext } from '../../jobs/defineJob.ts';
import { trainPolicy } from '../../jobs/method.ts';
import { localFiles } from '../../model/checkpoints/local.ts';
import { type DecoderConfig, initialise } from '../../model/config.ts';
import type { PolicyEngine, TrainerEngine } from '../../model/engine.ts';
import { savePolicy } from '../../model/policyFile.ts';
import type { CallTool } from '../../operators/callTools.ts';
import type { QuestionRow } from '../../sources/questions.ts';
import type { Flow } from '../../streams/flow.ts';
import { fakeTrainer } from '../../test/support/fakeTrainer.ts';
import { sloppy } from '../../test/support/tinyCalibration.ts';
import { tinyDialect, tinyWords } from '../../test/support/tinyWords.ts';
import { fakeTools } from '../../testing/fakeTools.ts';
import { scriptedPolicy, shuffledTurns } from '../../testing/scriptedPolicy.ts';
import type { KillSwitch } from './points.ts';

export const settings: CalibrateSettings = calibrateSettings.parse({
  rounds: 2,
  explore: 10,
  keep: 7,
  heldOut: 3,
  evaluationRollouts: 2,
  rollouts: 4,
  initialRollouts: 2,
  batchGroups: 3,
  concurrency: 2,
  responseMax: 80,
  callLimit: 2,
  keepVersions: 2,
  saveEvery: 2,
});

const decoder: DecoderConfig = {
  architecture: 'llama',
  vocabSize: tinyWords.vocabSize,
  hiddenSize: 16,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  intermediateSize: 24,
  ropeTheta: 10_000,
  rmsEps: 1e-6,
  attentionBias: false,
  tiedEmbeddings: true,
  maxPositions: 512,
};

async function* rows(): AsyncGenerator<{ readonly value: QuestionRow }> {
  for (let i = 0; i < 40; i++) {
    const [a, b] = [i % 10, Math.floor(i / 10)];
    yield {
      value: {
        id: `sum-${i}`,
        question: `What is ${a} + ${b}?`,
        answers: [String(a + b)],
        source: 'tiny',
        ability: 'math',
      },
    };
  }
}

export type Trainer = 'fake' | 'embedded';

function baseIn(folder: string): string {
  return join(folder, 'base.safetensors');
}

/** Puts the first policy into a new folder, before anything is killed there. */
export async function prepare(folder: string, trainer: Trainer): Promise<void> {
  await mkdir(folder);
  if (trainer === 'fake') await writeFile(baseIn(folder), 'base weights');
  else await savePolicy(baseIn(folder), { config: decoder, tensors: initialise(decoder, 5) });
}

/** The job with the given `context`; it asks `points` at every point. */
export async function killableJob(
  context: JobContext<CalibrateSettings>,
  trainer: Trainer,
  points: KillSwitch,
  timing: number,
): Promise<Flow> {
  const base = baseIn(context.folder);
  const delay = shuffledTurns(timing);
  const parts = {
    base,
    engine: killableEngine(delay, points),
    trainer: context.own(killableTrainer(await trainerOf(trainer, base, delay), points)),
    tools: killableTools(delay, points),
    dialect: tinyDialect(['search']),
  };
  return trainPolicy(context, parts, { train: rows() }, [calibrate(settings)]);
}

async function trainerOf(
  trainer: Trainer,
  base: string,
  delay: () => Promise<void>,
): Promise<TrainerEngine> {
  if (trainer === 'fake') return fakeTrainer({ before: delay, beside: true });
  // Loaded when needed: a process starts sooner without it.
  const { EmbeddedTrainer } = await import('../../model/train/trainer.ts');
  return EmbeddedTrainer.create({ policy: base, threads: 1 });
}

function killableEngine(delay: () => Promise<void>, points: KillSwitch): PolicyEngine {
  const engine = scriptedPolicy({
    tokenizer: tinyWords,
    script: sloppy,
    delay,
    onLoad: async ({ uri, digest }) => {
      await points.reach('loading');
      const found = createHash('sha256')
        .update(await readFile(uri))
        .digest('hex');
      if (found !== digest) throw new Error(`${uri} has digest ${found}, not ${digest}`);
    },
    topLogProbs: ({ draws }) => [Math.log(0.5 + 0.4 * draws.uniform(7)), Math.log(0.1)],
  });
  return {
    ...engine,
    async generate(request, signal) {
      await points.reach('generating');
      return engine.generate(request, signal);
    },
  };
}

function killableTools(delay: () => Promise<void>, points: KillSwitch): CallTool {
  const tools = fakeTools({
    answers: { search: (query) => `two ${query}` },
    delay,
  });
  return {
    ...tools,
    async call(...given) {
      await points.reach('calling');
      return tools.call(...given);
    },
  };
}

function killableTrainer(trainer: TrainerEngine, points: KillSwitch): TrainerEngine {
  return {
    score: (sequences) => trainer.score(sequences),
    restore: (saved, use) => trainer.restore(saved, use),
    close: () => trainer.close(),
    async step(batch) {
      const stepping = trainer.step(batch);
      stepping.catch(() => undefined);
      await points.reach('stepping');
      const report = await stepping;
      await points.reach('stepped');
      return report;
    },
    async save(target) {
      const { weights, state } = localFiles(target);
      if (points.next('torn')) await writeFile(weights, 'cut sho');
      await points.reach('torn');
      if (points.next('half-saved')) {
        await trainer.save(target);
        await rm(state, { force: true });
      }
      await points.reach('half-saved');
      const saved = await trainer.save(target);
      await points.reach('saved');
      return saved;
    },
  };
}
