/** `feedback`: sessions that arrive from outside, and the rewards for their work. */

import {
  choice,
  nullable,
  real,
  record,
  text,
  type ValueOf,
  whole,
} from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';
import { questionIdOf } from './rollouts.ts';

const feedbackKind = choice('FeedbackKind', ['opened', 'ended', 'reward', 'expired']);
/** `expired` = the watermark has passed the time limit for a reward, and there is none. */
export type FeedbackKind = ValueOf<typeof feedbackKind>;

const sessionStop = choice('SessionStop', ['none', 'calls', 'context']);
/** The limit that a session ran into. */
export type SessionStop = ValueOf<typeof sessionStop>;

export const feedbackRecord = record('Feedback', {
  /** Id of the session: that of its rollout. */
  sessionId: text,
  kind: feedbackKind,
  /** For a reward: what identifies it when it is sent again; otherwise empty. */
  key: text,
  /** Event time, according to the sender. */
  atMs: real,
  /** Arrival time: never before that of the previous record. */
  receivedMs: real,
  /** `opened`: the question, if one was given. `ended`: how. `reward`: the reason for it. */
  note: text,
  /** For a reward. */
  value: nullable(real),
  /** `ended`: its committed calls, the limit that it ran into, why it does not count (empty = it counts). */
  calls: whole,
  stop: sessionStop,
  failure: text,
});
/** An event of a served session. */
export interface FeedbackRecord extends ValueOf<typeof feedbackRecord> {}

export const sessionFeedback = defineRunTopic<FeedbackRecord>({
  name: 'feedback',
  about:
    'Served sessions: when each begins and ends, its rewards, even late ones, and when none came in time. The gateway writes it; the stage that turns sessions into rollouts reads it.',
  shape: feedbackRecord,
  key: ({ sessionId }) => sessionId,
  subjects: ({ sessionId }) => [questionIdOf(sessionId)],
  onePartition: true,
  identity: ({ sessionId, kind, key }) => `${sessionId}#${kind}${key === '' ? '' : ` ${key}`}`,
  moment: () => -1,
  keyName: 'rollout id',
  line: ({ sessionId, kind, value, note, calls, failure }) =>
    ({
      opened: `${sessionId} opened${note === '' ? '' : `: ${note}`}`,
      ended: `${sessionId} ended (${note}), ${calls} model calls${failure === '' ? '' : `: ${failure}`}`,
      reward: `${sessionId} got reward ${value}${note === '' ? '' : `: ${note}`}`,
      expired: `${sessionId} got no reward in time`,
    })[kind],
  links: ({ sessionId }) => [
    { label: 'trajectory', path: `t/${encodeURIComponent(sessionId)}` },
    questionLink(questionIdOf(sessionId)),
  ],
});
