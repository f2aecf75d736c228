/** How people see `control`, the commands given during a run. The engine defines and reads the topic. */

import { type ControlRecord, controlTopic } from '../streams/index.ts';
import type { RunTopic } from './defineRunTopic.ts';

export const control: RunTopic<ControlRecord> = {
  ...controlTopic,
  given: true,
  keyName: 'id of the request',
  line: ({ kind, setting, value }) => (kind === 'set' ? `set ${setting} = ${value}` : kind),
  links: () => [],
};
