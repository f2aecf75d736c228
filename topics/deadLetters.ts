/** How people see `dead-letters`. The engine defines and writes the topic. */
import { deadLetters as core, type DeadLetter } from '../streams/index.ts';
import type { RunTopic } from './defineRunTopic.ts';

export const deadLetters: RunTopic<DeadLetter> = {
  ...core,
  given: false,
  keyName: 'key of the record',
  line: ({ origin, place, reason }) => `${origin}@${place}: ${reason}`,
  links: () => [],
};
