/** `evolved`: the flywheel's trajectories with their verdicts. */
import {
  flag,
  named,
  record,
  text,
  type ValueOf,
  whole,
  withDefault,
} from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';
import { asked, type Question, question } from './questions.ts';

export const evolved = record('Evolved', {
  question: named<Question>(question),
  round: whole,
  /** Index of its parent in the question's buffer; -1 for the first. */
  parent: whole,
  action: text,
  correct: flag,
  toolCalls: whole,
  text,
  /** Place in the question's pool of `of` trajectories. */
  index: withDefault(whole, 0),
  of: withDefault(whole, 0),
  /** Policy version that rolled it out. */
  version: withDefault(whole, 0),
});
/** One flywheel trajectory. */
export interface Evolved extends ValueOf<typeof evolved> {}

export const evolvedTrajectories = defineRunTopic<Evolved>({
  name: 'evolved',
  about:
    'Flywheel trajectories with their verdicts. Evolve writes it; the demonstration filter reads it.',
  shape: evolved,
  key: (value) => value.question.id,
  subjects: 'key',
  version: 4,
  identity: ({ question: q, index, round }) => `${asked(q)}/${index} of round ${round}`,
  moment: ({ version }) => version,
  keyName: 'question id',
  line: ({ question: q, round, action, correct }) =>
    `${q.id}, round ${round}: ${action}, ${correct ? 'right' : 'wrong'}`,
  links: ({ question: { id } }) => [questionLink(id)],
});
