/**
 * Supervised fine-tuning on conversations of a file: a job of its own (`sft`), or the first method of one
 * (`learnData`).
 *
 *     data files ─► demonstrations ─► lessons (batch) ─► trainer (SFT) ─► weights
 *
 * All rows are shuffled again for each epoch by the run's seed; the learning rate follows the place of a
 * step among all of them.
 */

import { MillraceError } from '../../base/index.ts';
import type { TrainerEngine, TrainSequence } from '../../model/index.ts';
import { roundRate } from '../../operators/batching/index.ts';
import { batchDemonstrations } from '../../operators/index.ts';
import {
  metricFiles,
  metricsIn,
  progress,
  type TrainerOptions,
  trainer,
} from '../../sinks/index.ts';
import { type EncodeExample, heldOutNumbers } from '../../sinks/trainer/index.ts';
import { weightsStore } from '../../sinks/weights/index.ts';
import { type Flow, flow, sink, source, stage } from '../../streams/index.ts';
import { topics } from '../../topics/index.ts';
import type { JobContext } from '../defineJob.ts';
import type { Keeping } from '../keptVersions.ts';
import type { Method } from '../method.ts';
import { type PromptRecord, writePrompt } from '../parts/promptRecord.ts';
import { versionsOnDisk } from '../parts/versionsOnDisk.ts';
import { inflightFor } from '../policyLoop.ts';
import type { SftData } from './data.ts';
import type { SftSettings } from './settings.ts';

/** What fine-tuning runs on. */
export interface SftParts {
  readonly trainer: TrainerEngine;
  /**
   * The first policy: a policy file, which is copied into the run, or a Hugging Face folder, which stays
   * where it is.
   */
  readonly base: string;
  readonly data: SftData;
  /** How the policy is prompted in what it learns; left out = not recorded. */
  readonly prompt?: PromptRecord;
  /** A question and an answer as a sequence, for `prompt: 'policy'`. */
  readonly encode: EncodeExample;
}

/** What the job itself decides about the training. */
export type SftRun = Keeping;

/** The flow of a job that does nothing but fine-tune. */
export async function sft(
  context: JobContext<SftSettings & SftRun>,
  { trainer: engine, base, data, prompt, encode }: SftParts,
): Promise<Flow> {
  const { run, settings, log, folder, clock, seed, print, screen, replay } = context;
  if (prompt !== undefined) await writePrompt(folder, prompt);
  const store = weightsStore(folder, log);
  const first = { value: await store.adopt(base) };
  const steps = stepsOf(settings, data);
  const learnt = trainer({
    ...trainingOf(settings, data),
    engine,
    store,
    log,
    clock,
    encode,
    lr: rateOf(settings),
    miniBatches: 1,
    lagMax: 0,
    report: print,
    saved: replay?.saved,
    ...(await versionsOnDisk(engine, settings, context, { rounds: 1, tokens: null })),
  });
  const shown = progress({
    run,
    rounds: ['the base policy', ROUND_NAME],
    steps,
    print,
    screen,
    clock,
    pulse: () => ROUND_NAME,
  });
  return flow(
    source('base', topics.weights, [first]),
    source('data', topics.demonstrations, data.items()),
    lessons(settings, data, seed),
    sink('trainer', topics.batches, topics.weights, learnt, { inflightMax: 1 }),
    sink('files', topics.metrics, null, metricFiles({ folder, recorded: metricsIn(log) })),
    sink('progress', topics.metrics, null, shown),
  );
}

const ROUND_NAME = 'fine-tuning on data';

/** The same as the first method of a training job; the next method starts from the resulting policy. */
export function learnData(settings: SftSettings, data: SftData): Method {
  return ({ before, seed }) => {
    if (before.length > 0) {
      throw new MillraceError('METHOD', 'learnData must be the first method of a job');
    }
    return {
      rounds: [{ name: ROUND_NAME, phase: null, count: 0, skip: 0 }],
      loop: {
        training: trainingOf(settings, data),
        rates: { sft: rateOf(settings) },
      },
      wire: ({ begun, trained, rolled, scored, watched }) =>
        flow(
          begun,
          source('data', topics.demonstrations, data.items()),
          lessons(settings, data, seed),
          trained,
          rolled,
          scored,
          watched,
        ),
    };
  };
}

function lessons({ epochs, size, entropyMin }: SftSettings, { rows }: SftData, seed: number) {
  const shape = { questions: rows, epochs, size, perQuestionMax: 1 };
  const options = { ...shape, seed, openMax: 1, holdOut: entropyMin > 0 };
  return stage(
    'lessons',
    topics.demonstrations,
    topics.batches,
    batchDemonstrations(options),
    inflightFor(rows),
  );
}

/** The optimiser steps of all epochs. */
function stepsOf({ epochs, size }: SftSettings, { rows }: SftData): number {
  return epochs * Math.ceil(rows / size);
}

function rateOf({ lr, schedule, warmupRatio, minRatio, rateAt }: SftSettings) {
  const mode = rateAt === 'start' ? 'reference' : 'repaired';
  return roundRate({ lr, schedule, warmupRatio, minRatio, mode });
}

type Training = Pick<
  TrainerOptions,
  'losses' | 'encodeGiven' | 'tokensMax' | 'tooLong' | 'measured' | 'entropyMin'
>;

function trainingOf(settings: SftSettings, data: SftData): Training {
  const { tokensMax, tooLong, heldOut, entropyMin } = settings;
  return {
    losses: { sft: { name: 'sft' } },
    encodeGiven: data.encodeGiven,
    tokensMax,
    tooLong,
    entropyMin,
    ...(heldOut === '' ? {} : { measured: heldOutLoss(settings, data) }),
  };
}

/**
 * Mean cross-entropy of the held-out targets (nats a token), before the first step and then every so often.
 */
function heldOutLoss(
  settings: SftSettings,
  data: SftData,
): NonNullable<TrainerOptions['measured']> {
  let reading: Promise<readonly TrainSequence[]> | null = null;
  return async (engine, { batch, done, encode }) => {
    if (batch.kind !== 'sft') return null;
    const every = settings.evaluateEvery || Math.ceil(batch.of / settings.epochs);
    if (done % every !== 0 && done !== batch.of) return null;
    reading ??= data.heldOut(encode);
    const sequences = await reading;
    const { loss, tokens } = await heldOutNumbers(engine, sequences);
    return { 'heldout/loss': loss, 'heldout/tokens': tokens };
  };
}
