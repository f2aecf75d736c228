/**
 * The twelve topics: their Avro contracts, keys, versions, and who writes and reads each.
 *
 * The order of fields is the order on the wire. To change a contract: append fields with `withDefault`,
 * raise the topic's version, and add a fixture of the new version in test/streams/fixtures.
 */
import { avroCodec } from './codec.ts';
import type * as r from './records.ts';
import {
  choice,
  flag,
  float32s,
  int32s,
  list,
  map,
  nullable,
  real,
  record,
  type Shape,
  text,
  whole,
  withDefault,
} from './shapes.ts';
import type { Topic } from './topic.ts';

const position = record<r.Position>('Position', { partition: whole, offset: whole });

const question = record<r.Question>('Question', {
  id: text,
  question: text,
  answers: list(text),
  source: text,
  ability: choice('Ability', ['math', 'qa']),
  phase: choice('Phase', ['explore', 'practice', 'evaluate', 'evolve', 'prefer']),
  stage: whole,
  schedule: nullable(record<r.Schedule>('Schedule', { index: whole, of: whole, version: whole })),
});

const segment = record<r.Segment>('Segment', {
  kind: choice('SegmentKind', ['policy', 'tool']),
  start: whole,
  end: whole,
  version: whole,
  entropy: nullable(real),
  tool: nullable(text),
});

const rollout = record<r.Rollout>('Rollout', {
  id: text,
  question,
  index: whole,
  groupSize: whole,
  seed: whole,
  prompt: int32s,
  tokens: int32s,
  logProbs: float32s,
  segments: list(segment),
  text,
  toolCalls: whole,
  parent: nullable(
    record<NonNullable<r.Rollout['parent']>>('Parent', { index: whole, offset: whole }),
  ),
  version: whole,
  status: choice('RolloutStatus', ['done', 'failed', 'cancelled']),
  finish: choice('Finish', ['answer', 'stop', 'length', 'callLimit', 'failed', 'cancelled']),
  reason: text,
  startedMs: real,
  endedMs: real,
});

const toolCall = record<r.ToolCall>('ToolCall', {
  rolloutId: text,
  questionId: text,
  turn: whole,
  tool: text,
  input: text,
  output: text,
  ok: flag,
  attempts: whole,
  cached: flag,
  ms: real,
});

const scored = record<r.Scored>('Scored', {
  question,
  rewards: list(record<r.Reward>('Reward', { score: real, parts: map(real) })),
  toolCalls: list(whole),
  lengths: list(whole),
  advantages: list(real),
  rollouts: list(position),
  version: whole,
});

const selected = record<r.Selected>('Selected', {
  question,
  objectives: list(real),
  front: whole,
  distance: nullable(real),
  kept: flag,
  why: text,
  index: whole,
  of: whole,
  version: whole,
  scored: position,
});

const batch = record<r.Batch>('Batch', {
  step: whole,
  stage: whole,
  version: whole,
  groups: list(
    record<r.Batch['groups'][number]>('GroupRef', { questionId: text, scored: position }),
  ),
  last: flag,
  kind: withDefault(choice('BatchKind', ['policy', 'sft', 'dpo']), 'policy'),
  examples: withDefault(
    list(record<r.ExampleRef>('ExampleRef', { questionId: text, position, index: whole })),
    [],
  ),
  index: withDefault(whole, 0),
  of: withDefault(whole, 0),
});

const weights = record<r.Weights>('Weights', {
  version: whole,
  parent: whole,
  step: whole,
  roundsDone: whole,
  file: text,
  sha256: text,
  bytes: whole,
  optimiser: text,
  consumed: nullable(position),
});

const metric = record<r.Metric>('Metric', {
  name: text,
  step: whole,
  stage: whole,
  value: real,
  atMs: real,
});

const evolved = record<r.Evolved>('Evolved', {
  question,
  round: whole,
  parent: whole,
  action: text,
  correct: flag,
  toolCalls: whole,
  text,
  index: withDefault(whole, 0),
  of: withDefault(whole, 0),
  version: withDefault(whole, 0),
});

const demonstrations = record<r.Demonstrations>('Demonstrations', {
  question,
  difficulty: text,
  kept: list(
    record<r.Demonstration>('Demonstration', {
      index: whole,
      round: whole,
      action: text,
      toolCalls: whole,
      text,
    }),
  ),
  dropped: list(
    record<r.Demonstrations['dropped'][number]>('Dropped', { index: whole, why: text }),
  ),
  version: whole,
});

const pairs = record<r.Pairs>('Pairs', {
  question,
  difficulty: text,
  pairs: list(
    record<r.PreferencePair>('PreferencePair', { chosen: text, rejected: text, why: text }),
  ),
  version: whole,
});

const deadLetter = record<r.DeadLetter>('DeadLetter', {
  origin: text,
  place: whole,
  key: text,
  field: text,
  reason: text,
  payload: text,
});

/** A topic of version 1 unless told otherwise. */
export function defineTopic<T>(spec: {
  readonly name: string;
  readonly about: string;
  readonly shape: Shape<T>;
  readonly key: (value: T) => string;
  readonly version?: number;
}): Topic<T> {
  const { name, about, key, version = 1 } = spec;
  return { name, about, key, version, codec: avroCodec(name, spec.shape) };
}

export const topics = {
  questions: defineTopic({
    name: 'questions',
    about:
      'Tasks to roll out. Sources write it (and the round that practises what was selected); rollout reads it.',
    shape: question,
    key: (value) => value.id,
    version: 2,
  }),
  rollouts: defineTopic({
    name: 'rollouts',
    about:
      'Finished trajectories, failed and cancelled ones too. Rollout writes it; score, judge and trainer read it.',
    shape: rollout,
    key: (value) => value.question.id,
    version: 2,
  }),
  toolCalls: defineTopic({
    name: 'tool-calls',
    about:
      'Tool calls as they went. Rollout writes it beside its rollouts; replay and reports read it.',
    shape: toolCall,
    key: (value) => value.rolloutId,
  }),
  scored: defineTopic({
    name: 'scored',
    about:
      'Groups with rewards and advantages. Score writes it; Pareto sampling, batch and trainer read it.',
    shape: scored,
    key: (value) => value.question.id,
    version: 2,
  }),
  selected: defineTopic({
    name: 'selected',
    about:
      'Pareto verdicts on groups. Pareto sampling writes it; batch or the next practice round reads it.',
    shape: selected,
    key: (value) => value.question.id,
    version: 2,
  }),
  batches: defineTopic({
    name: 'batches',
    about: 'The schedule of optimiser steps. Batch writes it; the trainer and replay read it.',
    shape: batch,
    key: (value) => String(value.step),
    version: 2,
  }),
  weights: defineTopic({
    name: 'weights',
    about: 'Manifests of weights. The trainer writes it; rollout engines read it (feedback).',
    shape: weights,
    key: (value) => String(value.version),
  }),
  metrics: defineTopic({
    name: 'metrics',
    about: 'One number at one step. Any stage writes it; reports and `millrace top` read it.',
    shape: metric,
    key: (value) => value.name,
  }),
  evolved: defineTopic({
    name: 'evolved',
    about:
      'Flywheel trajectories with their verdicts. Evolve writes it; the demonstration filter reads it.',
    shape: evolved,
    key: (value) => value.question.id,
    version: 2,
  }),
  demonstrations: defineTopic({
    name: 'demonstrations',
    about:
      'Trajectories worth imitating, a record a question. The filter writes it; the fine-tuning batch and the curriculum read it.',
    shape: demonstrations,
    key: (value) => value.question.id,
  }),
  pairs: defineTopic({
    name: 'pairs',
    about:
      'Preference pairs, a record a question. Pairing writes it; the preference batch reads it.',
    shape: pairs,
    key: (value) => value.question.id,
  }),
  deadLetters: defineTopic({
    name: 'dead-letters',
    about:
      'What could not be read or processed, and why. Any stage or source writes it; people read it.',
    shape: deadLetter,
    key: (value) => value.key,
  }),
} as const;
