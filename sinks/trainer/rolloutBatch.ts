/**
 * Groups of rollouts as training sequences: policy tokens are trained on with their advantages, the prompt
 * and what tools wrote are not.
 *
 * A rollout whose context was replaced (a fold) becomes a sequence for each of its contexts, and counts as
 * one rollout; all have its advantages.
 */

import {
  type Attribution,
  actionMask,
  attribute,
  whitened,
  withActions,
} from '../../model/credit/index.ts';
import type { TrainSequence } from '../../model/index.ts';
import type { Log } from '../../streams/index.ts';
import {
  type Batch,
  contextsOf,
  hasValidFormat,
  type Rollout,
  type Scored,
  topics,
} from '../../topics/index.ts';
import { type BatchSequence, mean, type PreparedBatch } from './prepared.ts';

export interface RolloutBatchOptions {
  readonly log: Log;
  readonly attribution: Attribution;
  /** Whiten the advantages over the policy tokens of the batch, before it is split. */
  readonly whiten: boolean;
  /** Whether searches for tools count as actions; only calls and folds do if left out. */
  readonly searchActions?: boolean;
  /** Optimiser steps: the groups are split, in order, into this many parts. */
  readonly miniBatches: number;
}

/** A scored group with its rollouts. */
interface TrainGroup {
  readonly scored: Scored;
  readonly rollouts: readonly Rollout[];
}

export async function rolloutBatch(
  batch: Batch,
  options: RolloutBatchOptions,
): Promise<PreparedBatch> {
  const groups = await load(options.log, batch);
  const perRollout = groups.flatMap((group) => tokenAdvantages(group, options));
  const advantages = options.whiten
    ? whitened(
        perRollout,
        groups.flatMap(({ rollouts }) => rollouts.map(policyMask)),
      )
    : perRollout;
  let from = 0;
  const perGroup = groups.map(({ rollouts }) => {
    const first = from;
    from += rollouts.length;
    return rollouts.flatMap((rollout, i) =>
      sequencesOf(rollout, advantages[first + i]!, { version: batch.version, number: first + i }),
    );
  });
  return {
    steps: split(perGroup, options.miniBatches).map((part) => part.flat()),
    numbers: numbers(batch, groups),
  };
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

/**
 * The advantages of each rollout's response tokens: its own, and on the tokens of actions also that of its
 * actions.
 */
function tokenAdvantages(
  { scored, rollouts }: TrainGroup,
  { attribution, searchActions: search = false }: RolloutBatchOptions,
): Float64Array[] {
  const { advantages, actionAdvantages } = scored;
  const perToken = attribute(attribution, advantages, rollouts);
  if (actionAdvantages.length === 0) return perToken;
  return perToken.map((own, i) => {
    const actions = rollouts[i]!.episode?.actions ?? [];
    return withActions(own, actionAdvantages[i]!, actionMask(own.length, actions, { search }));
  });
}

/**
 * The sequences of a rollout; if there are several, each says that they belong to one, whose `number` is
 * unique. A failed rollout is not trained on: its failure is not the policy's fault.
 */
function sequencesOf(
  rollout: Rollout,
  perToken: ArrayLike<number>,
  { version, number }: { readonly version: number; readonly number: number },
): BatchSequence[] {
  if (rollout.tokens.length === 0 || rollout.status !== 'done') return [];
  const lags = rollout.segments.some((segment) => segment.version < version);
  const rounds = sequencesIn(rollout, perToken);
  const part = rounds.length > 1 ? { rollout: number } : {};
  return rounds.map((round) => ({ sequence: { ...round, ...part }, lags }));
}

/** 1 where the policy wrote the response token; nowhere in a rollout that failed. */
function policyMask({ tokens, segments, status }: Rollout): Uint8Array {
  const mask = new Uint8Array(tokens.length);
  if (status !== 'done') return mask;
  for (const { kind, start, end } of segments) if (kind === 'policy') mask.fill(1, start, end);
  return mask;
}

/**
 * The training sequences of a rollout, with an advantage for each response token: one for each of its
 * contexts.
 */
export function sequencesIn(rollout: Rollout, perToken: ArrayLike<number>): TrainSequence[] {
  const begins = contextsOf(rollout);
  const advantages = perToken instanceof Float64Array ? perToken : new Float32Array(perToken);
  const learnt = policyMask(rollout);
  return begins.flatMap(({ at, prompt }, i) => {
    const end = begins[i + 1]?.at ?? rollout.tokens.length;
    if (end === at) return [];
    const start = prompt.length;
    const length = start + end - at;
    // Shared: a trainer's thread reads it in place, as copying a large batch takes as long as sending it.
    const memory = new SharedArrayBuffer(13 * length);
    const sequence = {
      tokens: new Int32Array(memory, 0, length),
      advantages: new Float32Array(memory, 4 * length, length),
      oldLogProbs: new Float32Array(memory, 8 * length, length),
      mask: new Uint8Array(memory, 12 * length, length),
    };
    sequence.tokens.set(prompt);
    sequence.tokens.set(rollout.tokens.subarray(at, end), start);
    sequence.mask.set(learnt.subarray(at, end), start);
    sequence.advantages.set(advantages.subarray(at, end), start);
    sequence.oldLogProbs.set(rollout.logProbs.subarray(at, end), start);
    return [sequence];
  });
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

function numbers(batch: Batch, groups: readonly TrainGroup[]): Record<string, number> {
  const rewards = groups.flatMap(({ scored }) => scored.rewards);
  const calls = groups.flatMap(({ scored }) => scored.toolCalls);
  const raw = rewards.map((reward) => reward.parts.raw ?? 0);
  const actions = rewards.flatMap(({ parts }) => parts.action ?? []);
  const sumOf = (part: string) => rewards.reduce((sum, { parts }) => sum + (parts[part] ?? 0), 0);
  const rollouts = groups.flatMap((group) => group.rollouts);
  const policyTokens = rollouts.flatMap(({ segments }) =>
    segments.map(({ kind, start, end }) => (kind === 'policy' ? end - start : 0)),
  );
  const generatedMs =
    Math.max(...rollouts.map((r) => r.endedMs)) - Math.min(...rollouts.map((r) => r.startedMs));
  return {
    'reward/mean': mean(rewards.map((reward) => reward.score)),
    'accuracy/mean': mean(raw),
    'format/valid': mean(rewards.map(({ parts }) => (hasValidFormat(parts) ? 1 : 0))),
    'groups/uniform': mean(groups.map(({ scored }) => (teachesNothing(scored) ? 1 : 0))),
    'rollouts/failed': mean(rollouts.map(({ status }) => (status === 'done' ? 0 : 1))),
    'tools/mean': mean(calls),
    'tools/mean_correct': mean(calls.filter((_, i) => (raw[i] ?? 0) > 0)),
    ...(actions.length === 0
      ? {}
      : {
          'reward/action': mean(actions),
          'tools/right': sumOf('right') / Math.max(1, sumOf('attempted')),
          'folds/mean': mean(rollouts.map(({ episode }) => episode?.folds.length ?? 0)),
        }),
    ...sessionNumbers(rollouts),
    'len/response': mean(groups.flatMap(({ scored }) => scored.lengths)),
    'policy/lag': mean(rollouts.map((rollout) => batch.version - rollout.version)),
    'thr/gen_tok_s': policyTokens.reduce((a, b) => a + b, 0) / Math.max(1, generatedMs) / 1e-3,
  };
}

/** For rollouts made by agents. */
function sessionNumbers(rollouts: readonly Rollout[]): Record<string, number> {
  const sessions = rollouts.flatMap(({ session }) => session ?? []);
  if (sessions.length === 0) return {};
  const ms = sessions.reduce((sum, session) => sum + session.ms, 0);
  return {
    'agent/calls': mean(sessions.map(({ calls }) => calls.length)),
    'agent/contexts': mean(sessions.map(({ contexts }) => contexts.length + 1)),
    'agent/model_time': sessions.reduce((sum, { modelMs }) => sum + modelMs, 0) / Math.max(1, ms),
  };
}

/** No rollout of the group is better than another. */
function teachesNothing({ advantages, actionAdvantages }: Scored): boolean {
  return [...advantages, ...actionAdvantages].every((advantage) => advantage === 0);
}
