/** `windows`: windows of candidates that were cut by time. */

import { counted } from '../base/text/index.ts';
import { choice, formerly, real, record, type ValueOf, whole } from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';

const windowEnd = choice('WindowEnd', ['time', 'full']);
/** Why a window closed: its time was over, or it was full. */
export type WindowEnd = ValueOf<typeof windowEnd>;

export const window = record('Window', {
  /** The round of its candidates. */
  round: formerly('stage', whole),
  /** Candidates taken. */
  size: whole,
  /** When its first candidate came and when it was cut, by the clock of the process that cut it. */
  beganMs: real,
  cutMs: real,
  why: windowEnd,
});
/** A window of candidates that was cut by time: how many to judge together. */
export interface Window extends ValueOf<typeof window> {}

export const windows = defineRunTopic<Window>({
  name: 'windows',
  about:
    'Windows of candidates cut by time, and how many each took. The source of the questions writes it; Pareto sampling and replay read it.',
  shape: window,
  key: (value) => String(value.round),
  version: 2,
  onePartition: true,
  identity: ({ round }) => `round ${round}`,
  moment: () => -1,
  given: true,
  keyName: 'round',
  line: ({ round, size, why }) =>
    `round ${round}: ${counted(size, 'candidate')}, cut because ${why === 'full' ? 'it was full' : 'its time was up'}`,
});
