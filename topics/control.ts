/** `control`: commands given during a run, as people see them. The engine defines and reads the topic. */

import { type ControlRecord, controlTopic } from '../streams/index.ts';
import type { RunTopic } from './defineRunTopic.ts';

export const control: RunTopic<ControlRecord> = {
  ...controlTopic,
  given: true,
  keyName: 'id of the request',
  line: ({ kind, setting, value }) => (kind === 'set' ? `set ${setting} = ${value}` : kind),
  links: () => [],
};
