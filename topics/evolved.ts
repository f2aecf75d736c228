/** `evolved`: the flywheel's trajectories with their verdicts. */
import {
  flag,
  list,
  named,
  nullable,
  record,
  type shapes,
  text,
  type ValueOf,
  whole,
  withDefault,
} from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';
import { asked, type Question, question } from './questions.ts';

export const unanswered = record('Unanswered', {
  /** The request's name within the question, and how many came before with that name: `1/refine#0`. */
  request: text,
  /** Why it failed; empty = the model gave up. */
  reason: text,
});
/** A request to a flywheel model that got no answer. */
export interface Unanswered extends ValueOf<typeof unanswered> {}

export const evolved = record('Evolved', {
  question: named<Question>(question),
  round: whole,
  /** Index of its parent in the question's buffer; -1 for the first. */
  parent: whole,
  action: text,
  correct: flag,
  toolCalls: whole,
  text,
  /** Index in the question's pool of `of` trajectories. */
  index: withDefault(whole, 0),
  of: withDefault(whole, 0),
  /** Policy version that rolled it out. */
  version: withDefault(whole, 0),
  /**
   * The requests of the whole pool that got no answer, which a replay must not repeat; only with the first
   * trajectory. Null in records of version 4 and before.
   */
  unanswered: withDefault(nullable(list(named<Unanswered>(unanswered))), null),
});
/** One flywheel trajectory. */
export interface Evolved extends Omit<ValueOf<typeof evolved>, 'unanswered'> {
  /** Requests of the pool that got no answer; left out = unknown. */
  readonly unanswered?: readonly Unanswered[] | null | undefined;
}

export const evolvedTrajectories = defineRunTopic<Evolved>({
  name: 'evolved',
  about:
    'Flywheel trajectories with their verdicts. Evolve writes it; the demonstration filter reads it.',
  shape: evolved as unknown as shapes.Shape<Evolved>,
  key: (value) => value.question.id,
  subjects: 'key',
  version: 5,
  added: ['unanswered'],
  identity: ({ question: q, index, round }) => `${asked(q)}/${index} of round ${round}`,
  moment: ({ version }) => version,
  keyName: 'question id',
  line: ({ question: q, round, action, correct }) =>
    `${q.id}, round ${round}: ${action}, ${correct ? 'right' : 'wrong'}`,
  links: ({ question: { id } }) => [questionLink(id)],
});
