/** `feedback`: sessions that arrive from outside, and what their work turned out to be worth. */

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
/** `expired` = the watermark has passed the time in which a reward counts, and none is there. */
export type FeedbackKind = ValueOf<typeof feedbackKind>;

const sessionStop = choice('SessionStop', ['none', 'calls', 'context']);
/** The limit that a session ran into. */
export type SessionStop = ValueOf<typeof sessionStop>;

export const feedbackRecord = record('Feedback', {
  /** Id of the session: that of its rollout. */
  sessionId: text,
  kind: feedbackKind,
  /** Of a reward, what it is known by when it is sent again; else empty. */
  key: text,
  /** When it was so, as whoever sent it says. */
  atMs: real,
  /** When it came: never before the record before it. */
  receivedMs: real,
  /** `opened`: the question, if one was given. `ended`: how. `reward`: why it is what it is. */
  note: text,
  /** Of a reward. */
  value: nullable(real),
  /** `ended`: its committed calls, the limit that it ran into, why it counts for nothing (empty = it counts). */
  calls: whole,
  stop: sessionStop,
  failure: text,
});
/** Something about a served session. */
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
