/** `batches`: the schedule of optimiser steps. The order is data. */

import { counted } from '../base/text/index.ts';
import {
  choice,
  flag,
  formerly,
  list,
  named,
  record,
  text,
  type ValueOf,
  whole,
  withDefault,
} from '../streams/contracts/index.ts';
import { type Position, position } from '../streams/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { demonstrationSets } from './demonstrations.ts';
import { preferencePairs } from './pairs.ts';
import { scoredGroups } from './scored.ts';

const batchKind = choice('BatchKind', ['policy', 'sft', 'dpo']);
/** What a step trains on: groups (`policy`), demonstrations (`sft`) or preference pairs (`dpo`). */
export type BatchKind = ValueOf<typeof batchKind>;

export const exampleRef = record('ExampleRef', {
  questionId: text,
  position: named<Position>(position),
  index: whole,
});
/** One example of a step: number `index` of the record at `position` in `demonstrations` or `pairs`. */
export interface ExampleRef extends ValueOf<typeof exampleRef> {}

export const batch = record('Batch', {
  /** Optimiser step, from 1. */
  step: whole,
  round: formerly('stage', whole),
  /** Policy version that the step starts from. */
  version: whole,
  groups: list(record('GroupRef', { questionId: text, scored: named<Position>(position) })),
  /** The last step of its round. */
  last: flag,
  kind: withDefault(batchKind, 'policy'),
  /** Empty for `policy`; `groups` is empty for the others. */
  examples: withDefault(list(named<ExampleRef>(exampleRef)), []),
  /**
   * Index of this step among its round's steps, and their number if the schedule knows it (for learning-rate
   * schedules); otherwise 0 of 0.
   */
  index: withDefault(whole, 0),
  of: withDefault(whole, 0),
  /**
   * Examples of the round that no step trains on, for measuring `entropyMin`. The same in all of its steps.
   */
  heldOut: withDefault(list(named<ExampleRef>(exampleRef)), []),
});
/** The schedule: which data made step k. The order is data. */
export interface Batch extends ValueOf<typeof batch> {}

export const batches = defineRunTopic<Batch>({
  name: 'batches',
  about: 'The schedule of optimiser steps. Batch writes it; the trainer and replay read it.',
  shape: batch,
  key: (value) => String(value.step),
  subjects: ({ groups, examples }) => [...groups, ...examples].map(({ questionId }) => questionId),
  version: 4,
  onePartition: true,
  identity: ({ step }) => String(step),
  moment: ({ version }) => version,
  references: ({ groups, examples, heldOut, kind }) => [
    ...groups.map((group, i) => ({
      field: `groups.${i}.scored`,
      topic: scoredGroups,
      position: group.scored,
    })),
    ...examples.map((example, i) => ({
      field: `examples.${i}.position`,
      topic: kind === 'dpo' ? preferencePairs : demonstrationSets,
      position: example.position,
    })),
    ...heldOut.map((example, i) => ({
      field: `heldOut.${i}.position`,
      topic: demonstrationSets,
      position: example.position,
    })),
  ],
  keyName: 'step',
  line: ({ step, round, kind, groups, examples }) =>
    `step ${step}, round ${round}: ${kind === 'policy' ? counted(groups.length, 'group') : counted(examples.length, 'example')} (${kind})`,
  links: ({ step }) => [{ label: `as of step ${step}`, path: `?at=step:${step}` }],
});
