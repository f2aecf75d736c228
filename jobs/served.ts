/**
 * `trainServed`: RL on sessions that arrive from outside, as production sends them. Whoever has the gateway's
 * key opens a session; its calls are answered by the newest policy, and it is trained on once its reward is
 * there.
 *
 *     calls ◄─ sessions ─► feedback ─► rollouts ─► score ─► batch ─► trainer ─► weights
 *                  ▲                                                              │
 *                  └──────────────────────────────────────────────────────────────┘
 *
 * Each session is a group of its own, so a reward is compared with those of the other sessions of its step:
 * `advantage=reinforce++`.
 */
import { setMaxListeners } from 'node:events';
import { isLoopback } from '../base/http/index.ts';
import { keepSecret, MillraceError, messageOf, sleepClock } from '../base/index.ts';
import {
  again,
  policyChat,
  REMEMBERED,
  ServedSessions,
  SessionKeys,
  servedFeedback,
  servedInflight,
  servedRollouts,
  watchExactness,
} from '../gateway/index.ts';
import { loadChatTokenizer } from '../model/hf/index.ts';
import { type PolicyEngine, samplingIn } from '../model/index.ts';
import { batchArrived, type PolicyGate } from '../operators/index.ts';
import { neverStopping } from '../streams/deliveries/index.ts';
import { type Flow, feedback, flow, type Log, recordsOf, source, stage } from '../streams/index.ts';
import { type Question, type Scored, topics } from '../topics/index.ts';
import { type AgentContext, listening, recordedCalls, verifierFor } from './agent.ts';
import type { JobContext } from './defineJob.ts';
import { type EveryQuestionSettings, everyQuestion } from './everyQuestion.ts';
import { LiveHandle } from './live.ts';
import { loopOptions } from './method.ts';
import { findPolicy } from './parts/policyPlace.ts';
import type { QuestionPlan } from './plan.ts';
import { inflightFor, type PolicyLoop, type PolicyParts, policyLoop } from './policyLoop.ts';

type ServedContext = AgentContext & JobContext<EveryQuestionSettings>;

/** The variable with the key that opens sessions. */
const KEY_NAME = 'MILLRACE_GATEWAY_KEY';
const KEY_MIN = 16;
/** Model calls at once: as many as the gateway has open requests. */
const CALLS_MAX = 4096;

/** The job asks no questions: sessions arrive by themselves, without an end. */
const PLAN: QuestionPlan = {
  rounds: ['the base policy', 'served sessions'],
  endless: true,
  items: [],
  sizes: [0, 0],
  heldOut: 0,
  train: Number.POSITIVE_INFINITY,
};

/** See above. Rejects with `USAGE` for settings that do not fit, or without a key. */
export async function trainServed(context: ServedContext, parts: PolicyParts): Promise<Flow> {
  const { settings, seed, control, own, log, print, replay } = context;
  checkServed(context);
  const live = own(new LiveHandle(control));
  const method = everyQuestion(settings, { newest: true });
  const { loop: share } = method({ train: PLAN.train, before: [], seed, live });
  const options = { ...loopOptions([share]), samples: () => 1, branching: () => null, live };
  const loop = await policyLoop(context, parts, PLAN, options);
  const policy = await findPolicy(settings.policy);
  const chat = policyChat(await loadChatTokenizer(policy.folder), policy.folder);
  const { rewardMs, delayMs, sessions: sessionsMax } = settings.agent;
  const window = { rewardMs, delayMs };
  const callsOf = (id: string) => recordedCalls(log, id);
  const recorded = replay?.sessions;
  const verifier = replay === undefined ? verifierFor(context) : null;
  const made = servedRollouts({
    ...{ chat, seed, window, sessionsMax, callsOf, report: print },
    ...(verifier === null ? {} : { verifier }),
    ...(recorded !== undefined && {
      async again(id: string, signal: AbortSignal) {
        const session = await recorded(id);
        if (session === null) {
          throw new MillraceError('NOT_RECORDED', `session ${id} is not recorded`);
        }
        const { question } = session.rollout;
        const { engine } = loop.parts;
        return again(session, chat, { question, options: { ...settings, engine, seed }, signal });
      },
    }),
  });
  const sessions = served(context, loop, { name: policy.name, chat, window, callsOf });
  const steps = feedback(topics.batches);
  const { batchGroups: groups } = settings;
  const batched = batchArrived({
    groups,
    teaches: (group) => isDone(log, group),
    newest: () => steps.latest()?.step ?? 0,
  });
  return flow(
    loop.begun,
    sessions,
    stage('sessions', topics.feedback, topics.rollouts, made, {
      inflightMax: servedInflight(sessionsMax),
    }),
    loop.scored,
    steps,
    stage('batch', topics.scored, topics.batches, batched, inflightFor(groups)),
    loop.trained,
    loop.watched,
  );
}

function checkServed({ settings, forked, replay }: ServedContext): void {
  const { advantage, agent } = settings;
  const wrong = (what: string): MillraceError => new MillraceError('USAGE', what);
  if (agent.command !== '' || agent.url !== '') {
    throw wrong(
      'with agent.serve, clients open the sessions: leave agent.command and agent.url empty',
    );
  }
  if (agent.rewardUrl !== '' && agent.rewardMs > 0) {
    throw wrong('agent.rewardUrl judges sessions at their end: set agent.rewardMs=0 with it');
  }
  if (Object.keys(agent.mcp).length > 0) {
    throw wrong(
      'agent.mcp is for agents that the run starts; an agent that opens its own sessions has its own tools',
    );
  }
  if (forked !== undefined) {
    throw wrong('a served session cannot be forked: the run cannot start its agent');
  }
  if (!advantage.startsWith('reinforce++')) {
    throw wrong(
      `advantage=${advantage} compares rollouts of one question, but each served session has its own: set advantage=reinforce++, which compares the sessions of a step`,
    );
  }
  const key = process.env[KEY_NAME]?.trim() ?? '';
  if (replay !== undefined) return;
  if (key.length < KEY_MIN) {
    throw wrong(
      `set ${KEY_NAME} to a secret of at least ${KEY_MIN} characters: whoever has it may open sessions${isLoopback(agent.host) ? '' : `, and other machines reach ${agent.host}`}`,
    );
  }
  keepSecret(key);
}

/** The source of `feedback`: the gateway. */
function served(
  { settings, run, seed, log, clock, print }: ServedContext,
  { parts, gate, context }: PolicyLoop,
  {
    name,
    ...rest
  }: Pick<ConstructorParameters<typeof ServedSessions>[0], 'chat' | 'window' | 'callsOf'> & {
    readonly name: string;
  },
) {
  const { calls, answerTokens, timeoutMs, sessions: sessionsMax, host, port } = settings.agent;
  const failed = (error: unknown): void => print(`gateway: ${messageOf(error)}`);
  const waits = sleepClock(clock);
  const sessions = new ServedSessions({
    ...rest,
    ...{ model: name || run, seed, sessionsMax, clock: waits, failed },
    keys: new SessionKeys(process.env[KEY_NAME]?.trim() ?? ''),
    engine: byNewest(parts.engine, gate),
    sampling: samplingIn(settings),
    limits: { calls, answerTokens },
    idleMs: timeoutMs,
    commit: (record) => log.commit((tx) => tx.append(topics.calls, record)).then(() => undefined),
    see: watchExactness(context.print),
  });
  const past = async function* () {
    const from = { kind: 'last', count: REMEMBERED } as const;
    for await (const { value } of recordsOf(log, topics.feedback, { from })) yield value;
  };
  const items = servedFeedback({
    ...{ sessions, past },
    listen: () => listening({ sessions, clock: waits, host, port, failed }),
    listening: (url) =>
      print(`serving the policy at ${url}: POST /v1/sessions opens a session (docs/agents.md)`),
  });
  return source('feedback', topics.feedback, items);
}

/** Every request waits for the gate, which loads the newest weights, and while the run is paused. */
function byNewest(engine: PolicyEngine, gate: PolicyGate): PolicyEngine {
  const admission = gate.admission(CALLS_MAX);
  return {
    get contextMax() {
      return engine.contextMax;
    },
    async generate(request, signal = neverStopping) {
      setMaxListeners(0, signal);
      const release = await admission.admit(ASKED, { signal, stopping: signal });
      try {
        return await engine.generate(request, signal);
      } finally {
        release();
      }
    },
    load: (weights) => engine.load(weights),
    stats: () => engine.stats(),
    close: () => engine.close(),
  };
}

/** What the gate knows of a served session: any version will do. */
const ASKED: Question = {
  ...{ id: 'served', question: '', answers: [], source: 'served', ability: 'qa' },
  ...{ phase: 'explore', round: 1, schedule: null },
};

/** Whether the session of a group can be trained on. */
async function isDone(log: Log, { rollouts: [at] }: Scored): Promise<boolean> {
  const [stored] = await log.fetch(topics.rollouts, [at!]);
  return stored!.value.status === 'done';
}
