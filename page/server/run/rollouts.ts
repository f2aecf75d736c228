/** Rollouts as rows and groups, with what was scored, selected and trained on. Pure. */
import type { Stored } from '../../../streams/index.ts';
import type { Batch, Question, Rollout, Scored, Selected } from '../../../topics/index.ts';
import type { Group, QuestionFacts, RolloutRow, Verdict } from '../../wire/index.ts';
import { limits } from './limits.ts';
import { refOf } from './refs.ts';
import { cutText, finite } from './shown.ts';

/** What is known about a group. */
export interface GroupParts {
  /** When it was asked, in words. */
  readonly when: string;
  readonly question: Question;
  /** Null while it is not scored. */
  readonly scored: Stored<Scored> | null;
  readonly rollouts: readonly Stored<Rollout>[];
  readonly selected: Stored<Selected> | null;
  readonly batch: Stored<Batch> | null;
}

export function groupOf(parts: GroupParts): Group {
  const { when, question, scored, rollouts, selected, batch } = parts;
  const rows = rollouts.map((stored) => rolloutRow(stored, scored?.value ?? null));
  const place = placeIn(batch, scored);
  return {
    when,
    phase: question.phase,
    round: question.round,
    version: scored?.value.version ?? firstVersion(rollouts),
    scored: scored === null ? null : refOf(scored.position),
    rollouts: rows.sort((a, b) => a.index - b.index),
    size: rollouts[0]?.value.groupSize ?? scored?.value.rewards.length ?? 0,
    verdict: selected === null ? null : verdictOf(selected),
    batch: batch === null ? null : { step: batch.value.step, place, ref: refOf(batch.position) },
  };
}

function firstVersion(rollouts: readonly Stored<Rollout>[]): number | null {
  return rollouts.length === 0 ? null : Math.min(...rollouts.map(({ value }) => value.version));
}

function placeIn(batch: Stored<Batch> | null, scored: Stored<Scored> | null): number {
  if (batch === null || scored === null) return -1;
  const { partition, offset } = scored.position;
  return batch.value.groups.findIndex(
    (group) => group.scored.partition === partition && group.scored.offset === offset,
  );
}

function verdictOf({ value, position }: Stored<Selected>): Verdict {
  const { kept, why, front, objectives, distance } = value;
  return {
    ref: refOf(position),
    kept,
    why,
    front,
    objectives: objectives.map(finite),
    distance: distanceOf(distance),
  };
}

/** -1 for infinite. */
export function distanceOf(distance: number | null): number | null {
  return distance === Number.POSITIVE_INFINITY ? -1 : finite(distance);
}

/** `scored` = of its group; null while it has none. */
export function rolloutRow(
  { value, position }: Stored<Rollout>,
  scored: Scored | null,
): RolloutRow {
  const { id, index, question, parent, segments, tokens } = value;
  const at = scored?.rollouts.findIndex(
    (other) => other.partition === position.partition && other.offset === position.offset,
  );
  const reward = at === undefined || at < 0 ? undefined : scored?.rewards[at];
  const advantage = at === undefined || at < 0 ? undefined : scored?.advantages[at];
  return {
    ref: refOf(position),
    id,
    index,
    question: question.id,
    parent: parent === null ? null : { index: parent.index, offset: parent.offset },
    tokens: tokens.length,
    turns: segments.filter(({ kind }) => kind === 'policy').length,
    toolCalls: value.toolCalls,
    toolErrors: null,
    status: value.status,
    finish: value.finish,
    reason: value.reason.slice(0, limits.textInRow),
    versions: versionsOf(value),
    reward: finite(reward?.score),
    parts: finiteParts(reward?.parts ?? {}),
    advantage: finite(advantage),
    correct: reward?.parts.raw === undefined ? null : reward.parts.raw > 0,
    ms: Math.max(0, value.endedMs - value.startedMs),
  };
}

/** Ascending. */
export function versionsOf({ segments, version }: Rollout): number[] {
  return [...new Set([version, ...segments.map((segment) => segment.version)])].sort(
    (a, b) => a - b,
  );
}

function finiteParts(parts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => Number.isFinite(value)));
}

export function questionFacts(
  { id, question, answers, source, ability }: Question,
  textMax: number = limits.textInRecord,
): QuestionFacts {
  const few = answers.slice(0, 50).map((answer) => answer.slice(0, limits.textInRow));
  return { id, text: cutText(question, textMax), answers: few, source, ability };
}
