/** `scored`: groups with their rewards and advantages. */

import {
  list,
  map,
  named,
  real,
  record,
  type ValueOf,
  whole,
  withDefault,
} from '../streams/contracts/index.ts';
import { type Position, position } from '../streams/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';
import { asked, type Question, question } from './questions.ts';
import { rollouts } from './rollouts.ts';

export const reward = record('Reward', {
  score: real,
  parts: map(real),
});
/** The reward of one rollout with its parts (`raw`, `tool`, `length`, `format`, …). */
export interface Reward extends ValueOf<typeof reward> {}

export const scored = record('Scored', {
  question: named<Question>(question),
  rewards: list(named<Reward>(reward)),
  toolCalls: list(whole),
  /** Response length in tokens, tool results included. */
  lengths: list(whole),
  /** Group-relative advantage per rollout. */
  advantages: list(real),
  /** The positions of its rollouts in `rollouts`. */
  rollouts: list(named<Position>(position)),
  /** Oldest policy version in the group. */
  version: whole,
  /** The extra advantages for tokens of each rollout's actions; empty if the method has none. */
  actionAdvantages: withDefault(list(real), []),
});
/** One group, scored. `rollouts[i]` and `rewards[i]` belong together. */
export interface Scored extends ValueOf<typeof scored> {}

export const scoredGroups = defineRunTopic<Scored>({
  name: 'scored',
  about:
    'Groups with rewards and advantages. Score writes it; Pareto sampling, batch and trainer read it.',
  shape: scored,
  key: (value) => value.question.id,
  subjects: 'key',
  version: 5,
  large: true,
  identity: (value) => asked(value.question),
  moment: ({ version }) => version,
  references: (value) =>
    value.rollouts.map((at, i) => ({ field: `rollouts.${i}`, topic: rollouts, position: at })),
  asThen: (made, recorded) => ({
    ...made,
    rewards: made.rewards.map((one, i) => withoutFormat(one, recorded.rewards[i])),
  }),
  keyName: 'question id',
  line: ({ question: q, rewards }) =>
    `${q.id}, ${q.phase} ${q.round}: rewards ${rewards.map(({ score }) => short(score)).join(' ')}`,
  links: ({ question: { id } }) => [questionLink(id)],
});

/** Older versions scored the format only if a reward uses it. */
function withoutFormat(made: Reward, recorded: Reward | undefined): Reward {
  if (recorded === undefined || recorded.parts.format !== undefined) return made;
  const { format: _, ...parts } = made.parts;
  return { ...made, parts };
}

/** Three significant digits. */
const short = (value: number): string => String(Number(value.toPrecision(3)));

/**
 * Whether a response has the form that the policy's dialect requires (`Dialect.formatFault`: thoughts and
 * calls in pairs, one answer with one box), as `score` found it. Text without an answer has not.
 */
export function hasValidFormat(parts: Reward['parts']): boolean {
  return (parts.format ?? 0) >= 0;
}
