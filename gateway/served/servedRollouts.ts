/**
 * Served sessions as rollouts: a session, its end and its reward are joined in the time of rewards.
 *
 * A session becomes a rollout when it has ended and its first reward is there, or when the watermark (the
 * gateway's clock less `delayMs`) has passed the time in which a reward counts. Both are records of one
 * sequence, so whichever stands first there decides, and a kill or a replay changes nothing. A reward that
 * finds its session gone is too late: it is a dead letter, which says why, and counts nowhere.
 */
import { type OperatorFunction, pipe } from 'rxjs';
import { MillraceError, messageOf, type Report } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Delivery } from '../../streams/deliveries/index.ts';
import { deadLetters, expandEach, gatherBy, type Scope } from '../../streams/index.ts';
import {
  type FeedbackRecord,
  type ModelCallRecord,
  type Question,
  questionIdOf,
  type Rollout,
} from '../../topics/index.ts';
import type { PolicyChat } from '../sessions/policyChat.ts';
import { recordedNodes } from '../sessions/records.ts';
import { rolloutOf, type SessionOf } from '../sessions/rolloutOf.ts';
import type { Verifier } from '../verifier/verifier.ts';
import type { RewardWindow } from './rewardWindow.ts';
import { SERVED } from './sessionKeys.ts';

export interface ServedRolloutsOptions {
  readonly chat: PolicyChat;
  readonly seed: number;
  readonly window: RewardWindow;
  /** Most sessions that are open or wait for a reward. */
  readonly sessionsMax: number;
  readonly callsOf: (id: string) => Promise<readonly ModelCallRecord[]>;
  /** The rollout of a recorded session, written again; left out = made from the record. */
  readonly again?: (id: string, signal: AbortSignal) => Promise<Rollout>;
  readonly report: Report;
  /** Judges the sessions that got no reward. */
  readonly verifier?: Verifier;
}

/** Rollouts made at once. */
const AT_ONCE = 8;
/** Records of each session: its beginning, its end, and its reward or the fact that none came. */
const RECORDS_EACH = 3;

/** Most records of the topic that may be unsettled. */
export function servedInflight(sessionsMax: number): number {
  return sessionsMax * RECORDS_EACH + 64;
}

/** feedback → rollouts. */
export function servedRollouts(
  options: ServedRolloutsOptions,
): OperatorFunction<Delivery<FeedbackRecord>, Delivery<Rollout>> {
  const { window, sessionsMax, again, report } = options;
  let late = 0;
  return pipe(
    gatherBy<FeedbackRecord>({
      key: ({ sessionId }) => sessionId,
      opens: ({ kind }) => kind === 'opened',
      complete: (members) =>
        members.some(({ kind }) => kind === 'ended') &&
        (window.rewardMs === 0 || members.length >= RECORDS_EACH),
      openMax: sessionsMax,
    }),
    expandEach(
      async (members, scope) => {
        const [first] = members;
        if (first!.kind === 'opened') {
          const id = first!.sessionId;
          return [await (again?.(id, scope.signal) ?? made(members, options, scope.signal))];
        }
        if (first!.kind === 'reward') {
          late += 1;
          if (late === 1)
            report(`${tooLate(first!)}; it becomes a dead letter, as will any later ones`);
          letter(first!, scope);
        }
        return [];
      },
      { concurrency: AT_ONCE, onError: 'fail' },
    ),
  );
}

const endIn = (members: readonly FeedbackRecord[]): FeedbackRecord | undefined =>
  members.find(({ kind }) => kind === 'ended');
const rewardIn = (members: readonly FeedbackRecord[]): FeedbackRecord | undefined =>
  members.find(({ kind }) => kind === 'reward');

async function made(
  members: readonly FeedbackRecord[],
  { chat, seed, window, callsOf, verifier }: ServedRolloutsOptions,
  signal: AbortSignal,
): Promise<Rollout> {
  const [opened] = members as [FeedbackRecord];
  const end = endIn(members)!;
  const given = rewardIn(members);
  const records = await callsOf(opened.sessionId);
  if (records.length !== end.calls) {
    throw new MillraceError(
      'DAMAGED',
      `session ${opened.sessionId} ended after ${counted(end.calls, 'model call')}, but the log has ${records.length}: check the run with \`millrace doctor\``,
    );
  }
  const calls = recordedNodes(records, chat);
  const inTime = given !== undefined && given.atMs <= end.atMs + window.rewardMs;
  const question = questionOf(opened, calls[0]?.messages ?? []);
  const { index } = SERVED;
  const none = { failure: end.failure, exitCode: null, output: '' };
  const judged = { id: opened.sessionId, question, index, calls, answer: null, ...none };
  const asked = verifier !== undefined && given === undefined && end.failure === '';
  const verdict = asked ? await judgedBy(verifier, judged, signal) : null;
  const own = inTime ? { value: given.value!, reason: given.note } : null;
  const rollout = rolloutOf({
    ...{ question, index, groupSize: 1, seed, calls, version: 0 },
    stop: end.stop === 'none' ? null : end.stop,
    reward: typeof verdict === 'string' ? null : (verdict ?? own),
    end: typeof verdict === 'string' ? { ...none, failure: verdict } : none,
    markers: chat.tokenizer.markers ?? [],
    ...{ startedMs: opened.atMs, endedMs: end.atMs },
  });
  if (rollout.status !== 'done' || inTime || window.rewardMs === 0) return rollout;
  const reason =
    given === undefined
      ? `no reward came within ${seconds(window.rewardMs)} of its end (agent.rewardMs)`
      : `its reward is dated more than ${seconds(window.rewardMs)} after its end (agent.rewardMs)`;
  return { ...rollout, status: 'cancelled', finish: 'cancelled', reason };
}

/** The verifier's reward, or why there is none. */
async function judgedBy(
  verifier: Verifier,
  session: Parameters<Awaited<ReturnType<Verifier['begin']>>['judge']>[0],
  signal: AbortSignal,
): Promise<SessionOf['reward'] | string> {
  try {
    const trial = await verifier.begin(session.question, signal);
    const { reward: value, reason, parts } = await trial.judge(session, signal);
    return { value, reason, parts };
  } catch (error) {
    signal.throwIfAborted();
    return messageOf(error);
  }
}

/** The question that was given, or else the first thing the agent's user said. */
function questionOf(
  { sessionId, note }: FeedbackRecord,
  messages: readonly { readonly role: string; readonly content: string }[],
): Question {
  const said = messages.find(({ role }) => role === 'user')?.content ?? '';
  return {
    id: questionIdOf(sessionId),
    question: note === '' ? said : note,
    answers: [],
    source: 'served',
    ability: 'qa',
    ...{ phase: SERVED.phase, round: SERVED.round, schedule: null, task: null },
  };
}

function letter(record: FeedbackRecord, scope: Scope): void {
  const { topic: origin, position, key } = scope;
  scope.also(deadLetters, {
    ...{ origin, place: position.offset, key, field: '' },
    reason: tooLate(record),
    payload: JSON.stringify(record),
  });
}

function tooLate({ sessionId }: FeedbackRecord): string {
  return `a reward for session ${sessionId} came after another one, or too late (agent.rewardMs): it does not count`;
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
