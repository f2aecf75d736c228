/** `demonstrations`: trajectories worth imitating, one record per question. */
import {
  choice,
  flag,
  list,
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

export const chatCall = record('ChatCall', {
  name: text,
  /** JSON, or the data's own text if that is not JSON. */
  arguments: text,
  /** The id that a tool turn refers to; empty if the data has none. */
  id: text,
});
/** A function call of an assistant turn. */
export interface ChatCall extends ValueOf<typeof chatCall> {}

export const chatTurn = record('ChatTurn', {
  role: choice('ChatRole', ['system', 'user', 'assistant', 'tool']),
  text,
  /** The thinking of an assistant turn if the data keeps it apart from the text; otherwise empty. */
  thinking: text,
  calls: list(named<ChatCall>(chatCall)),
  /** For a tool turn: which tool, and which call it answers; empty if the data does not say. */
  name: text,
  callId: text,
  /** Whether fine-tuning learns it; only assistant turns are learnt. */
  learnt: flag,
});
/** One turn of a given conversation. */
export interface ChatTurn extends ValueOf<typeof chatTurn> {}

export const demonstration = record('Demonstration', {
  /** Index in the pool. */
  index: whole,
  round: whole,
  action: text,
  toolCalls: whole,
  text,
  /**
   * A conversation of more than one question and answer; the question and `text` are then for display only.
   */
  turns: withDefault(list(named<ChatTurn>(chatTurn)), []),
  /** JSON list of the functions that the conversation may call; empty if there are none. */
  functions: withDefault(text, ''),
});
/** A trajectory to fine-tune on: from the pool of its question, or from a data file (action `given`). */
export interface Demonstration extends ValueOf<typeof demonstration> {}

export const demonstrations = record('Demonstrations', {
  question: named<Question>(question),
  /** How hard the question is for the policy, in the method's own classes; empty if it has none. */
  difficulty: text,
  kept: list(named<Demonstration>(demonstration)),
  dropped: list(record('Dropped', { index: whole, why: text })),
  /** Newest policy version in the pool, from which fine-tuning starts. */
  version: whole,
});
/**
 * What a question contributes to fine-tuning: trajectories that passed the filter, and why others did not.
 */
export interface Demonstrations extends ValueOf<typeof demonstrations> {}

export const demonstrationSets = defineRunTopic<Demonstrations>({
  name: 'demonstrations',
  about:
    'Trajectories worth imitating, one record per question. The filter or a data file writes it; the fine-tuning batch and the curriculum read it.',
  shape: demonstrations,
  key: (value) => value.question.id,
  subjects: 'key',
  version: 4,
  identity: (value) => asked(value.question),
  moment: ({ version }) => version,
  keyName: 'question id',
  line: ({ question: q, kept, dropped }) =>
    `${q.id}: ${kept.length} kept, ${dropped.length} dropped`,
  links: ({ question: { id } }) => [questionLink(id)],
});
