/**
 * `trainer`: a batch in, an optimiser step made, a weights manifest out.
 *
 * The step itself is not transactional. It becomes real with its manifest, which is committed together with the
 * consumed batch; after a crash before that, the step is made again from the version it began with, whose files
 * are still there, and gives the same bits.
 *
 * A batch waits until the version that it starts from is committed. So steps are made one at a time and in order,
 * also where a later batch comes first, as it may when rollouts are allowed to lag.
 */
import type { OperatorFunction } from 'rxjs';
import type { Loss, StepReport, TrainerEngine, TrainSequence } from '../model/engine.ts';
import { type Attribution, attribute } from '../operators/advantages/attribution.ts';
import type { Clock } from '../streams/clock.ts';
import type { Delivery } from '../streams/delivery.ts';
import type { Log } from '../streams/log.ts';
import { mapEach } from '../streams/primitives.ts';
import type { Batch, Rollout, Scored, Weights } from '../streams/records.ts';
import { topics } from '../streams/topics.ts';
import type { WeightsStore } from './weights.ts';

export interface TrainerOptions {
  readonly engine: TrainerEngine;
  readonly store: WeightsStore;
  readonly log: Log;
  readonly loss: Loss;
  /** What the shared beginnings of branched rollouts carry; soft when left out. */
  readonly attribution?: Attribution;
  readonly lr: number;
  /** Optimiser steps a batch: its groups are split, in order, into this many parts. */
  readonly miniBatches: number;
  /** Versions that rollouts may be behind: so many batches may come before their turn. */
  readonly lagMax: number;
  readonly clock: Clock;
}

/** A scored group with its rollouts. */
export interface TrainGroup {
  readonly scored: Scored;
  readonly rollouts: readonly Rollout[];
}

/**
 * The training sequence of a rollout, with an advantage for each response token: policy tokens are trained on,
 * the prompt and what tools wrote are not.
 */
export function sequenceOf(rollout: Rollout, perToken: ArrayLike<number>): TrainSequence {
  const start = rollout.prompt.length;
  const length = start + rollout.tokens.length;
  const tokens = new Int32Array(length);
  tokens.set(rollout.prompt);
  tokens.set(rollout.tokens, start);
  const mask = new Uint8Array(length);
  for (const segment of rollout.segments) {
    if (segment.kind === 'policy') mask.fill(1, start + segment.start, start + segment.end);
  }
  const oldLogProbs = new Float32Array(length);
  oldLogProbs.set(rollout.logProbs, start);
  const advantages = new Float32Array(length);
  advantages.set(perToken, start);
  return { tokens, mask, advantages, oldLogProbs };
}

async function load(log: Log, batch: Batch): Promise<readonly TrainGroup[]> {
  const scored = await log.fetch(
    topics.scored,
    batch.groups.map((group) => group.scored),
  );
  return Promise.all(
    scored.map(async ({ value }) => {
      const rollouts = await log.fetch(topics.rollouts, value.rollouts);
      return { scored: value, rollouts: rollouts.map((stored) => stored.value) };
    }),
  );
}

/** Splits in order into at most `parts` runs of nearly equal size. */
function split<T>(items: readonly T[], parts: number): T[][] {
  const count = Math.min(parts, items.length);
  return Array.from({ length: count }, (_, i) =>
    items.slice(
      Math.floor((i * items.length) / count),
      Math.floor(((i + 1) * items.length) / count),
    ),
  );
}

/** Rollouts that failed before their first token have nothing to train on. */
function sequencesOf(groups: readonly TrainGroup[], attribution: Attribution): TrainSequence[] {
  return groups.flatMap(({ scored, rollouts }) => {
    const perToken = attribute(attribution, scored.advantages, rollouts);
    return rollouts.flatMap((rollout, i) =>
      rollout.tokens.length === 0 ? [] : [sequenceOf(rollout, perToken[i]!)],
    );
  });
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The numbers of one step, by their names on the dashboard. */
function numbers(
  batch: Batch,
  groups: readonly TrainGroup[],
  reports: readonly StepReport[],
): Record<string, number> {
  const rewards = groups.flatMap(({ scored }) => scored.rewards);
  const calls = groups.flatMap(({ scored }) => scored.toolCalls);
  const raw = rewards.map((reward) => reward.parts.raw ?? 0);
  const rollouts = groups.flatMap((group) => group.rollouts);
  const policyTokens = rollouts.map((rollout) =>
    rollout.segments.reduce((n, s) => n + (s.kind === 'policy' ? s.end - s.start : 0), 0),
  );
  const generatedMs =
    Math.max(...rollouts.map((r) => r.endedMs)) - Math.min(...rollouts.map((r) => r.startedMs));
  const tokens = reports.reduce((sum, report) => sum + report.tokens, 0);
  const trainMs = reports.reduce((sum, report) => sum + report.ms, 0);
  return {
    'reward/mean': mean(rewards.map((reward) => reward.score)),
    'accuracy/mean': mean(raw),
    'format/valid': mean(rewards.map((reward) => ((reward.parts.format ?? 0) < 0 ? 0 : 1))),
    'tools/mean': mean(calls),
    'tools/mean_correct': mean(calls.filter((_, i) => (raw[i] ?? 0) > 0)),
    'len/response': mean(groups.flatMap(({ scored }) => scored.lengths)),
    'policy/lag': mean(rollouts.map((rollout) => batch.version - rollout.version)),
    loss: mean(reports.map((report) => report.loss)),
    grad_norm: mean(reports.map((report) => report.gradNorm)),
    'step/skipped': reports.filter((report) => !report.applied).length,
    'entropy/mean': mean(reports.map((report) => report.entropy)),
    'clip/fraction': mean(reports.map((report) => report.clipFraction)),
    'kl/behaviour': mean(reports.map((report) => report.kl)),
    'logprob/diff_max': reports[0]?.logProbDiffMax ?? 0,
    'thr/gen_tok_s': policyTokens.reduce((a, b) => a + b, 0) / Math.max(1, generatedMs) / 1e-3,
    'thr/train_tok_s': tokens / Math.max(1, trainMs) / 1e-3,
    'time/train_ms': trainMs,
  };
}

/** batches → weights, with the step's metrics beside the manifest. */
export function trainer(
  options: TrainerOptions,
): OperatorFunction<Delivery<Batch>, Delivery<Weights>> {
  const { engine, store, clock, attribution = 'soft' } = options;
  /** The version whose weights and optimiser state the engine holds; -1 = unknown. */
  let held = -1;
  return mapEach(
    async (batch, scope) => {
      const begun = await store.awaited(batch.version, scope.signal);
      if (held !== batch.version) await engine.restore(store.files(begun));
      held = -1;
      const groups = await load(options.log, batch);
      const reports: StepReport[] = [];
      for (const part of split(groups, options.miniBatches)) {
        const sequences = sequencesOf(part, attribution);
        if (sequences.length === 0) continue;
        reports.push(await engine.step({ sequences, loss: options.loss, lr: options.lr }));
      }
      const weights = await store.publish(engine, batch, scope.position);
      held = weights.version;
      await store.forget(batch.version - 1);
      const { step, stage } = batch;
      const atMs = clock.now();
      for (const [name, value] of Object.entries(numbers(batch, groups, reports))) {
        scope.also(topics.metrics, { name, value, step, stage, atMs });
      }
      return weights;
    },
    { concurrency: options.lagMax + 1, onError: 'fail' },
  );
}
