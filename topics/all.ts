/** The topics of a run, and the types of their records. */
import type { RunTopic } from './defineRunTopic.ts';
import * as list from './list.ts';

export type { ControlRecord, DeadLetter, Position } from '../streams/index.ts';
export type { Batch, BatchKind, ExampleRef } from './batches.ts';
export type { CallJoin, CallSpan, ModelCallRecord } from './calls.ts';
export type { RunTopic, Shown } from './defineRunTopic.ts';
export type { ChatCall, ChatTurn, Demonstration, Demonstrations } from './demonstrations.ts';
export type { Evolved, Unanswered } from './evolved.ts';
export type { FeedbackKind, FeedbackRecord, SessionStop } from './feedback.ts';
export type { FoldRecord } from './folds.ts';
export { type IdleSteps, Learning, noteOf } from './learning.ts';
export type { RowLink } from './links.ts';
export { type McpCallRecord, mcpAnswer, mcpCallsIn } from './mcpCalls.ts';
export { isTimeMetric, type Metric } from './metrics.ts';
export type { Pairs, PreferencePair } from './pairs.ts';
export {
  type Ability,
  asked,
  askedIn,
  type Gold,
  type Phase,
  type Question,
  type Schedule,
  type Task,
} from './questions.ts';
export {
  type Action,
  type ActionKind,
  type Context,
  contextsOf,
  type EpisodeRecord,
  type Finish,
  type Fold,
  questionIdOf,
  type Rollout,
  type RolloutStatus,
  rolloutId,
  type Segment,
  type SessionCall,
  type SessionEnd,
  type WorldEnd,
} from './rollouts.ts';
export { hasValidFormat, type Reward, type Scored } from './scored.ts';
export type { Selected } from './selected.ts';
export type { EnvironmentStep, ToolCall } from './toolCalls.ts';
export type { Weights } from './weights.ts';
export type { Window, WindowEnd } from './windows.ts';

/** The topics by their names in the code. */
export const topics = { ...list };

/** In the order in which a question passes through; topics not named here come last. */
const ORDER: readonly (keyof typeof topics)[] = [
  'questions',
  'rollouts',
  'toolCalls',
  'calls',
  'mcpCalls',
  'feedback',
  'scored',
  'selected',
  'batches',
  'weights',
  'metrics',
  'evolved',
  'demonstrations',
  'pairs',
  'folds',
  'windows',
  'control',
  'deadLetters',
];

/** All topics in that order. */
export const allTopics: readonly RunTopic<unknown>[] = Object.values<RunTopic<unknown>>({
  ...Object.fromEntries(ORDER.map((name) => [name, topics[name]])),
  ...topics,
});

/** The topic with this name; undefined if there is none. */
export function runTopic(name: string): RunTopic<unknown> | undefined {
  return allTopics.find((topic) => topic.name === name);
}
