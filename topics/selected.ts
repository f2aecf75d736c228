/** `selected`: the Pareto verdicts on groups. */

import {
  flag,
  list,
  named,
  nullable,
  real,
  record,
  text,
  type ValueOf,
  whole,
} from '../streams/contracts/index.ts';
import { type Position, position } from '../streams/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';
import { asked, type Question, question } from './questions.ts';
import { scoredGroups } from './scored.ts';

export const selected = record('Selected', {
  question: named<Question>(question),
  /** Objective values in the sampler's order (dispersion of tool calls, of correctness). */
  objectives: list(real),
  front: whole,
  /**
   * Crowding distance; null if it was not computed (only the truncated front has one). Infinity is allowed.
   */
  distance: nullable(real),
  kept: flag,
  /** `selected`, `dominated`, `crowded`, `uniform` (all right or all wrong). */
  why: text,
  /** Index and count among the kept; -1 and the count if not kept. */
  index: whole,
  of: whole,
  /** Policy version at which the round begins. */
  version: whole,
  /** The position of the judged group in `scored`. */
  scored: named<Position>(position),
});
/** The Pareto verdict on a group. */
export interface Selected extends ValueOf<typeof selected> {}

export const selectedGroups = defineRunTopic<Selected>({
  name: 'selected',
  about:
    'Pareto verdicts on groups. Pareto sampling writes it; batch or the next practice round reads it.',
  shape: selected,
  key: (value) => value.question.id,
  subjects: 'key',
  version: 4,
  large: true,
  identity: (value) => asked(value.question),
  moment: ({ version }) => version,
  references: (value) => [{ field: 'scored', topic: scoredGroups, position: value.scored }],
  keyName: 'question id',
  line: ({ question: q, kept, why, front }) =>
    `${q.id}: ${kept ? 'kept' : 'not kept'}, ${why}, front ${front}`,
  links: ({ question: { id } }) => [questionLink(id)],
});
