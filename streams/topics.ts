/**
 * The fifteen topics: their records, keys, versions, and who writes and reads each.
 */
import { defineTopic } from './contracts/defineTopic.ts';
import * as r from './records.ts';

/** The topics that every run has, by their names in code. */
export const topics = {
  questions: defineTopic<r.Question>({
    name: 'questions',
    about:
      'Tasks to roll out. Sources write it (and the round that practises what was selected); rollout reads it.',
    shape: r.question,
    key: (value) => value.id,
    questions: 'key',
    version: 2,
  }),
  rollouts: defineTopic<r.Rollout>({
    name: 'rollouts',
    about:
      'Finished trajectories, failed and cancelled ones too. Rollout writes it; score, judge and trainer read it.',
    shape: r.rollout,
    key: (value) => value.question.id,
    questions: 'key',
    version: 3,
  }),
  toolCalls: defineTopic<r.ToolCall>({
    name: 'tool-calls',
    about:
      'Tool calls as they went. Rollout writes it beside its rollouts; replay and reports read it.',
    shape: r.toolCall,
    key: (value) => value.rolloutId,
    questions: ({ questionId }) => [questionId],
  }),
  scored: defineTopic<r.Scored>({
    name: 'scored',
    about:
      'Groups with rewards and advantages. Score writes it; Pareto sampling, batch and trainer read it.',
    shape: r.scored,
    key: (value) => value.question.id,
    questions: 'key',
    version: 3,
  }),
  selected: defineTopic<r.Selected>({
    name: 'selected',
    about:
      'Pareto verdicts on groups. Pareto sampling writes it; batch or the next practice round reads it.',
    shape: r.selected,
    key: (value) => value.question.id,
    questions: 'key',
    version: 2,
  }),
  batches: defineTopic<r.Batch>({
    name: 'batches',
    about: 'The schedule of optimiser steps. Batch writes it; the trainer and replay read it.',
    shape: r.batch,
    key: (value) => String(value.step),
    questions: ({ groups, examples }) =>
      [...groups, ...examples].map(({ questionId }) => questionId),
    version: 2,
  }),
  weights: defineTopic<r.Weights>({
    name: 'weights',
    about: 'Manifests of weights. The trainer writes it; rollout engines read it (feedback).',
    shape: r.weights,
    key: (value) => String(value.version),
    version: 3,
  }),
  metrics: defineTopic<r.Metric>({
    name: 'metrics',
    about: 'One number at one step. Any stage writes it; reports and millrace top read it.',
    shape: r.metric,
    key: (value) => value.name,
  }),
  evolved: defineTopic<r.Evolved>({
    name: 'evolved',
    about:
      'Flywheel trajectories with their verdicts. Evolve writes it; the demonstration filter reads it.',
    shape: r.evolved,
    key: (value) => value.question.id,
    questions: 'key',
    version: 2,
  }),
  demonstrations: defineTopic<r.Demonstrations>({
    name: 'demonstrations',
    about:
      'Trajectories worth imitating, a record a question. The filter or a data file writes it; the fine-tuning batch and the curriculum read it.',
    shape: r.demonstrations,
    key: (value) => value.question.id,
    questions: 'key',
    version: 2,
  }),
  pairs: defineTopic<r.Pairs>({
    name: 'pairs',
    about:
      'Preference pairs, a record a question. Pairing writes it; the preference batch reads it.',
    shape: r.pairs,
    key: (value) => value.question.id,
    questions: 'key',
  }),
  folds: defineTopic<r.FoldRecord>({
    name: 'folds',
    about:
      'Folds of memory (DeepAgent): what was dropped, and the three memories in its place. Rollout writes it beside its rollouts; people read it.',
    shape: r.foldRecord,
    key: (value) => value.rolloutId,
    questions: ({ questionId }) => [questionId],
  }),
  windows: defineTopic<r.Window>({
    name: 'windows',
    about:
      'Windows of candidates that were cut by time, and how many each took. The source of the questions writes it; Pareto sampling and replay read it.',
    shape: r.window,
    key: (value) => String(value.stage),
  }),
  control: defineTopic<r.Control>({
    name: 'control',
    about:
      'What the run was told while it went on: settings, pause, resume, stop. `millrace set` and its like write it; rollout, gate and trainer read it.',
    shape: r.control,
    key: (value) => value.id,
  }),
  deadLetters: defineTopic<r.DeadLetter>({
    name: 'dead-letters',
    about:
      'What could not be read or processed, and why. Any stage or source writes it; people read it.',
    shape: r.deadLetter,
    key: (value) => value.key,
  }),
} as const;
