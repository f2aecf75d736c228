/**
 * `trainer`: a batch in, its optimiser steps made, a weights manifest out.
 *
 * A step itself is not transactional. It becomes real with its manifest, which is committed together with the
 * consumed batch; after a crash before that, the step is repeated from the version it began with, and gives
 * the same bits. If that version has no optimiser state, the steps since the last one that has are repeated
 * first (trainer/repeatSteps.ts).
 *
 * A batch waits until the version that it starts from is committed. So steps are made one at a time and in
 * order, even if a later batch comes first, as it may when rollouts are allowed to lag. When the run is to
 * stop, the step under way is finished, and a batch that still waits is left for the next start.
 *
 * Batches are of three kinds: groups of rollouts (`policy`), demonstrations (`sft`), preference pairs
 * (`dpo`). Each becomes sequences (trainer/prepared.ts); everything else is the same for all. A batch without
 * sequences changes no weights and still makes its version, so that rounds end. So does one whose rollouts
 * were made by other weights (samplerCheck.ts).
 */
import { defer, finalize, type OperatorFunction } from 'rxjs';
import type { Clock, Report } from '../base/index.ts';
import type { Attribution, LagCorrection } from '../model/credit/index.ts';
import type { AgreementRule, Scorer, StepReport, TrainerEngine } from '../model/index.ts';
import type { PreparedLoss } from '../model/losses/index.ts';
import { type LoopGap, watchLoop } from '../model/runtime/index.ts';
import { type Delivery, unlessStopping } from '../streams/deliveries/index.ts';
import { type Log, mapEach } from '../streams/index.ts';
import {
  type Batch,
  type BatchKind,
  beginOfRound,
  topics,
  versionMade,
  type Weights,
} from '../topics/index.ts';
import { EntropyLeft, LEFT_OUT } from './trainer/entropyLeft.ts';
import {
  demonstrationBatch,
  type EncodeExample,
  type EncodeGiven,
  pairBatch,
} from './trainer/exampleBatch.ts';
import { KeptWeights, type WeightsRule } from './trainer/keptWeights.ts';
import { corrected } from './trainer/lagging.ts';
import { compares, type Losses, lossOf, preparedFor } from './trainer/losses.ts';
import { type BatchSteps, mean, type PreparedBatch } from './trainer/prepared.ts';
import { referenceVersion, withReference } from './trainer/reference.ts';
import { bringTo, type Repetition } from './trainer/repeatSteps.ts';
import { rolloutBatch } from './trainer/rolloutBatch.ts';
import { SamplerCheck } from './trainer/samplerCheck.ts';
import { type SaveEvery, SaveRule } from './trainer/saveRule.ts';
import { type FrozenEngine, versionedEngine } from './trainer/versionedEngine.ts';
import type { WeightsStore } from './weights/weights.ts';

export type { Losses } from './trainer/losses.ts';
export type { FrozenEngine } from './trainer/versionedEngine.ts';

export interface TrainerOptions {
  readonly engine: TrainerEngine;
  readonly store: WeightsStore;
  readonly log: Log;
  /** By kind of batch; a batch whose kind has no suitable loss ends the stage with code `NO_LOSS`. */
  readonly losses: Losses;
  /**
   * A constant, or by the batch: `roundRate` (operators/batching/learningRate.ts) follows its place in the
   * round.
   */
  readonly lr: number | ((batch: Batch) => number);
  /** Optimiser steps per batch of groups, which is split into this many parts in order. */
  readonly miniBatches: number;
  /** How many versions rollouts may lag: as many batches may come before their turn. */
  readonly lagMax: number;
  /**
   * Number of newest versions whose files stay, at least 2 (default 2); 0 = all. The first always stays,
   * others by `keepRule`.
   */
  readonly keepVersions?: number;
  /** What else stays; by default the ends of all rounds. */
  readonly keepRule?: Omit<WeightsRule, 'newest'>;
  /** Which of those keep their optimiser state: all (default), or only the newest that has one. */
  readonly keepStates?: 'all' | 'newest';
  /**
   * How often the optimiser state is saved too; every version by default, and in any case if a loss compares
   * with a reference policy, for which the trainer leaves its version in every step.
   */
  readonly saveEvery?: SaveEvery;
  /** On a replay, the versions whose state is recorded. */
  readonly saved?: ((version: number) => boolean) | undefined;
  /** Called with a line when steps are repeated. */
  readonly report?: Report;
  /** The advantage of the shared beginnings of branched rollouts; soft if left out. */
  readonly attribution?: Attribution;
  /** Whether searches for tools are actions to ToolPO, like calls and folds; not if left out. */
  readonly searchActions?: boolean;
  /**
   * Whiten advantages over the policy tokens of the batch, as REINFORCE++ does (model/credit/estimators.ts).
   */
  readonly whiten?: boolean;
  /** How the loss corrects for rollouts of an older version; null (default) = not at all. */
  readonly lagCorrection?: LagCorrection | null;
  /**
   * Scores under the reference policy of KL and DPO; null (default) = `engine` itself, which then changes
   * weights twice a batch.
   */
  readonly reference?: FrozenEngine | null;
  /** A question and the text of a response as a sequence to train on, for demonstrations and pairs. */
  readonly encode: EncodeExample;
  /**
   * Longest demonstration or response of a pair, with its prompt, in tokens; longer ones are left out and
   * counted.
   */
  readonly tokensMax?: number;
  /**
   * What to do with a longer demonstration: train on its first tokens (`cut`), or leave it out (`drop`, the
   * default).
   */
  readonly tooLong?: 'drop' | 'cut';
  /** A demonstration from a data file as sequences; left out = question and text by `encode`. */
  readonly encodeGiven?: EncodeGiven;
  /**
   * Fine-tuning ends once the policy's entropy on held-out demonstrations is below this (nats per token); 0
   * (default) = not measured.
   */
  readonly entropyMin?: number;
  /**
   * Numbers of a version by itself (a held-out loss, say), measured while `engine` holds its weights: before
   * the first step of a round (`done` = 0), as numbers of the step before it, and after every step; null =
   * not now.
   */
  readonly measured?: (
    engine: Scorer,
    at: { readonly batch: Batch; readonly done: number; readonly encode: EncodeExample },
  ) => Promise<Readonly<Record<string, number>> | null>;
  /** Changes of settings that this version's manifest is to count; none unless given. */
  readonly controls?: (version: number) => number;
  /**
   * How close the engine's log-probs of fresh rollouts must be to the trainer's; null (default) = not
   * compared.
   */
  readonly agreement?: AgreementRule | null;
  /** On a replay, the steps that were not trained (samplerCheck.ts). */
  readonly refused?: (step: number) => boolean;
  /** On a replay, the steps whose record counts forward passes only: older records do not. */
  readonly counted?: (step: number) => boolean;
  /** Awaited before a step: for what it needs to know, and while the run is paused. */
  readonly turn?: (batch: Batch, until: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  /** Measures how long the event loop stalls; this process's unless given. */
  readonly watch?: () => LoopGap;
}

/** batches → weights, with the step's metrics and the manifest. */
export function trainer(
  options: TrainerOptions,
): OperatorFunction<Delivery<Batch>, Delivery<Weights>> {
  return (batches$) =>
    defer(() => {
      const loop = (options.watch ?? watchLoop)();
      return batches$.pipe(
        stepping(options, loop),
        finalize(() => loop.stop()),
      );
    });
}

function stepping(
  options: TrainerOptions,
  loop: LoopGap,
): OperatorFunction<Delivery<Batch>, Delivery<Weights>> {
  const { engine, store, clock, losses, encode } = options;
  const { measured = async () => null } = options;
  const { reference = null, lagCorrection = null } = options;
  const learner = versionedEngine(engine, store);
  const frozen = reference === null ? learner : versionedEngine(reference, store);
  const prepare = preparations(options);
  const { keepVersions: newest = 2, keepRule = { rounds: 0, every: 0, best: 0 } } = options;
  const check = new SamplerCheck(options.agreement ?? null, options.log);
  const isThere = (weights: Weights): Promise<boolean> => store.isThere(weights);
  const kept = new KeptWeights({ newest, ...keepRule }, options.log, isThere);
  const { saveEvery: every = 1, saved: recorded, report = () => undefined } = options;
  const left = new EntropyLeft({
    min: options.entropyMin ?? 0,
    ...{ log: options.log, report },
    async sequences(batch) {
      const { steps } = await prepare.sft({ ...batch, examples: batch.heldOut });
      return steps.flat().map(({ sequence }) => sequence);
    },
  });
  const rule = new SaveRule({ every, recorded, clock });
  const always = recorded === undefined && every !== 1 ? compares(losses) : Promise.resolve(false);
  /** The newest version with a state; null = unknown so far. */
  let saved: Weights | null = null;

  /** The steps before other policies' log-probs are known → as the loss needs them. */
  const compared = async (
    steps: BatchSteps,
    batch: Batch,
    needs: PreparedLoss,
  ): Promise<BatchSteps> => {
    if (!needs.reference) return steps;
    const version = referenceVersion(batch);
    return withReference(steps, await frozen.toScore(await store.manifest(version)));
  };

  const planOf = async (batch: Batch) => {
    const loss = lossOf(batch, losses);
    const needs = await preparedFor(batch, loss);
    const lr = typeof options.lr === 'number' ? options.lr : options.lr(batch);
    const prepared = await prepare[batch.kind](batch);
    return { loss, needs, lr, prepared, steps: await compared(prepared.steps, batch, needs) };
  };
  type Plan = Awaited<ReturnType<typeof planOf>>;

  const repetition: Repetition<Plan> = {
    ...{ engine, learner, store, log: options.log, report },
    async plan(batch, until) {
      await options.turn?.(batch, until);
      return planOf(batch);
    },
    async step({ steps, loss, lr }) {
      const ready = await corrected(steps, lagCorrection, engine);
      for (const sequences of ready.steps) {
        if (sequences.length > 0) await engine.step({ sequences, loss, lr });
      }
    },
  };

  /** Removes what must not stay once `made` is committed. */
  const tidy = async (batch: Batch, made: Weights, begun: Weights): Promise<void> => {
    const before = saved;
    // By now the state of the version before is on disk.
    saved = begun.state === '' ? (saved ?? (await store.trainable(begun))) : begun;
    for (const old of await kept.goingAfter(made, begun, saved.version)) {
      await store.forget(old, isReference(old, batch));
    }
    if (options.keepStates === 'newest' && saved !== before) {
      await store.forgetStates(saved.version, before?.version);
    }
  };

  return mapEach(
    async (batch, scope) => {
      const toTrain = (wanted: Weights): Promise<void> =>
        unlessStopping(scope, `step ${batch.step}`, (until) => bringTo(wanted, repetition, until));
      const begun = await unlessStopping(scope, `the turn of step ${batch.step}`, async (until) => {
        const manifest = await store.awaited(batch.version, until);
        await options.turn?.(batch, until);
        return manifest;
      });
      const leftOut = await left.hasEnded(batch);
      const plan = await planOf(batch);
      const { loss, needs, lr } = plan;
      const { prepared, steps } = leftOut ? NOT_TRAINED : plan;
      await toTrain(begun);
      const ready = await corrected(steps, lagCorrection, engine);
      const { index, step, round } = batch;
      if (index === 0) {
        const before = {
          ...(await measured(engine, { batch, done: 0, encode })),
          ...(await left.measured(engine, batch, 0)),
        };
        for (const [name, value] of Object.entries(before)) {
          scope.also(topics.metrics, { name, value, step: step - 1, round, atMs: clock.now() });
        }
      }
      learner.changes();
      const reports: StepReport[] = [];
      let refused = false;
      for (const [i, sequences] of ready.steps.entries()) {
        if (sequences.length === 0) continue;
        const report = await engine.step({ sequences, loss, lr });
        refused =
          reports.length === 0 &&
          (options.refused?.(step) ?? (await check.refuses(batch, steps[i]!, report)));
        reports.push(refused ? { ...report, applied: false } : report);
        if (refused) break;
      }
      if (refused) {
        await toTrain(begun);
        learner.changes();
      }
      const after = {
        ...(await measured(engine, { batch, done: index + 1, encode })),
        ...(leftOut ? {} : await left.measured(engine, batch, index + 1)),
      };
      const weights = await store.publish(engine, {
        batch,
        parent: begun,
        consumed: scope.position,
        // Never fewer than the version before: a process that lags behind undoes nothing.
        controls: Math.max(begun.controls, options.controls?.(versionMade(batch)) ?? 0),
        state: rule.saves(versionMade(batch)) || (await always),
      });
      learner.holds(weights);
      await tidy(batch, weights, begun);
      const atMs = clock.now();
      const numbers = {
        ...prepared.numbers,
        ...ready.numbers,
        ...after,
        lr,
        ...(batch.of === 0 ? {} : { 'round/share': (index + 1) / batch.of }),
        'time/loop_gap_ms': loop.take(),
        ...(refused ? { 'step/refused': 1 } : {}),
        ...(options.counted?.(step) === false ? {} : forwardOnlyOf(batch, reports)),
        ...(leftOut ? { 'time/train_ms': 0 } : stepNumbers(needs, reports)),
      };
      for (const [name, value] of Object.entries(numbers)) {
        scope.also(topics.metrics, { name, value, step, round, atMs });
      }
      return weights;
    },
    { concurrency: options.lagMax + 1, onError: 'fail' },
  );
}

/** A step of a fine-tuning that has ended (trainer/entropyLeft.ts). */
const NOT_TRAINED = { prepared: { numbers: { [LEFT_OUT]: 1 } }, steps: [] } as const;

function preparations(
  options: TrainerOptions,
): Record<BatchKind, (batch: Batch) => Promise<PreparedBatch>> {
  const { encode, log, tokensMax = Number.POSITIVE_INFINITY } = options;
  const { encodeGiven, tooLong = 'drop' } = options;
  const texts = {
    encode,
    log,
    tokensMax,
    tooLong,
    ...(encodeGiven === undefined ? {} : { encodeGiven }),
  };
  const { attribution = 'soft', whiten = false } = options;
  const groups = { ...options, attribution, whiten };
  return {
    policy: (batch) => rolloutBatch(batch, groups),
    sft: (batch) => demonstrationBatch(batch, texts),
    dpo: (batch) => pairBatch(batch, texts),
  };
}

/** A round of preferences still needs its first version, also after the first step. */
function isReference(version: number, batch: Batch): boolean {
  return batch.kind === 'dpo' && version === beginOfRound(batch);
}

/** Empty if the trainer cannot say; only groups of rollouts come without a gradient. */
function forwardOnlyOf({ kind }: Batch, reports: readonly StepReport[]): Record<string, number> {
  const counts = reports.flatMap(({ forwardOnly }) => forwardOnly ?? []);
  if (kind !== 'policy' || counts.length === 0) return {};
  return { 'step/forward_only': counts.reduce((sum, count) => sum + count, 0) };
}

/** Empty if the trainer cannot say. */
function entropyOf(reports: readonly StepReport[]): Record<string, number> {
  const entropies = reports.map(({ entropy }) => entropy);
  const known = entropies.filter((entropy) => entropy !== null);
  return known.length < entropies.length ? {} : { 'entropy/mean': mean(known) };
}

/** What the steps report; the time comes last and so marks the end of the step's numbers. */
function stepNumbers(
  { metrics }: PreparedLoss,
  reports: readonly StepReport[],
): Record<string, number> {
  const tokens = reports.reduce((sum, report) => sum + report.tokens, 0);
  const trainMs = reports.reduce((sum, report) => sum + report.ms, 0);
  const own = Object.entries(metrics).map(([name, over]): [string, number] => {
    const values = reports.map(({ numbers }) => numbers[name] ?? 0);
    return [name, over === 'first' ? (values[0] ?? 0) : mean(values)];
  });
  return {
    loss: mean(reports.map((report) => report.loss)),
    grad_norm: mean(reports.map((report) => report.gradNorm)),
    'step/applied': reports.filter((report) => report.applied).length,
    'step/skipped': reports.filter((report) => !report.applied).length,
    ...entropyOf(reports),
    ...Object.fromEntries(own),
    'thr/train_tok_s': tokens / Math.max(1, trainMs) / 1e-3,
    'time/train_ms': trainMs,
  };
}
