/** `pairs`: preference pairs, one record per question. */

import { counted } from '../base/text/index.ts';
import { list, named, record, text, type ValueOf, whole } from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';
import { asked, type Question, question } from './questions.ts';

export const preferencePair = record('PreferencePair', {
  chosen: text,
  rejected: text,
  /** The rule that made the pair. */
  why: text,
});
/** A better and a worse response to one question. */
export interface PreferencePair extends ValueOf<typeof preferencePair> {}

export const pairs = record('Pairs', {
  question: named<Question>(question),
  /** How hard the question is for the policy, in the method's own classes; empty if it has none. */
  difficulty: text,
  pairs: list(named<PreferencePair>(preferencePair)),
  /** Newest policy version among the responses, from which preference steps start. */
  version: whole,
});
/** What a question contributes to preference optimisation; no pairs if its responses differ too little. */
export interface Pairs extends ValueOf<typeof pairs> {}

export const preferencePairs = defineRunTopic<Pairs>({
  name: 'pairs',
  about:
    'Preference pairs, one record per question. Pairing writes it; the preference batch reads it.',
  shape: pairs,
  key: (value) => value.question.id,
  subjects: 'key',
  version: 3,
  identity: (value) => asked(value.question),
  moment: () => 0,
  keyName: 'question id',
  line: (value) => `${value.question.id}: ${counted(value.pairs.length, 'pair')}`,
  links: ({ question: { id } }) => [questionLink(id)],
});
