/** The fifteen topics of a run, and the types of their records. */
import { batches } from './batches.ts';
import { control } from './control.ts';
import { deadLetters } from './deadLetters.ts';
import type { RunTopic } from './defineRunTopic.ts';
import { demonstrationSets } from './demonstrations.ts';
import { evolvedTrajectories } from './evolved.ts';
import { folds } from './folds.ts';
import { metrics } from './metrics.ts';
import { preferencePairs } from './pairs.ts';
import { questions } from './questions.ts';
import { rollouts } from './rollouts.ts';
import { scoredGroups } from './scored.ts';
import { selectedGroups } from './selected.ts';
import { toolCalls } from './toolCalls.ts';
import { manifests } from './weights.ts';
import { windows } from './windows.ts';

export type { ControlRecord, DeadLetter, Position } from '../streams/index.ts';
export type { Batch, BatchKind, ExampleRef } from './batches.ts';
export type { RunTopic, Shown } from './defineRunTopic.ts';
export type { ChatCall, ChatTurn, Demonstration, Demonstrations } from './demonstrations.ts';
export type { Evolved } from './evolved.ts';
export type { FoldRecord } from './folds.ts';
export { type IdleSteps, Learning, noteOf } from './learning.ts';
export type { RowLink } from './links.ts';
export { isTimeMetric, type Metric } from './metrics.ts';
export type { Pairs, PreferencePair } from './pairs.ts';
export {
  type Ability,
  asked,
  askedIn,
  type Phase,
  type Question,
  type Schedule,
} from './questions.ts';
export {
  type Action,
  type ActionKind,
  type EpisodeRecord,
  type Finish,
  type Fold,
  type Rollout,
  type RolloutStatus,
  rolloutId,
  type Segment,
} from './rollouts.ts';
export { hasValidFormat, type Reward, type Scored } from './scored.ts';
export type { Selected } from './selected.ts';
export type { ToolCall } from './toolCalls.ts';
export type { Weights } from './weights.ts';
export type { Window, WindowEnd } from './windows.ts';

/** The topics by their names in code. */
export const topics = {
  questions,
  rollouts,
  toolCalls,
  scored: scoredGroups,
  selected: selectedGroups,
  batches,
  weights: manifests,
  metrics,
  evolved: evolvedTrajectories,
  demonstrations: demonstrationSets,
  pairs: preferencePairs,
  folds,
  windows,
  control,
  deadLetters,
} as const;

/** All of them, in the order in which a question passes through. */
export const allTopics: readonly RunTopic<unknown>[] = Object.values<RunTopic<unknown>>(topics);

/** The topic of this name; undefined where it is not one of these. */
export function runTopic(name: string): RunTopic<unknown> | undefined {
  return allTopics.find((topic) => topic.name === name);
}
