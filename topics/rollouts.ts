/** `rollouts`: finished trajectories, failed and cancelled ones too. */

import { counted } from '../base/text/index.ts';
import {
  choice,
  flag,
  float32s,
  int32s,
  list,
  map,
  named,
  nullable,
  real,
  record,
  type shapes,
  text,
  type ValueOf,
  whole,
  withDefault,
} from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';
import { asked, type Question, question } from './questions.ts';

export const segment = record('Segment', {
  kind: choice('SegmentKind', ['policy', 'tool']),
  start: whole,
  end: whole,
  /** Policy version that sampled it; for a tool segment, the version of the segment before it. */
  version: whole,
  /** ARPO step entropy of a policy segment (arpo §1.2); null if it was not measured. */
  entropy: nullable(real),
  /**
   * Tag of the tool that wrote a tool segment, or that a policy segment called (comma-separated); else null.
   */
  tool: nullable(text),
});
/** A run of response tokens with one author. `end` is exclusive; both are offsets into the response. */
export interface Segment extends ValueOf<typeof segment> {}

const rolloutStatus = choice('RolloutStatus', ['done', 'failed', 'cancelled']);
/** How a rollout ended. A `failed` or `cancelled` one is a record too; its `reason` says why. */
export type RolloutStatus = ValueOf<typeof rolloutStatus>;

const finish = choice('Finish', ['answer', 'stop', 'length', 'callLimit', 'failed', 'cancelled']);
/** `answer` = closed its answer; `stop` = end token without an answer; `callLimit` = one call too many. */
export type Finish = ValueOf<typeof finish>;

const actionKind = choice('ActionKind', ['call', 'search', 'fold']);
/** What a policy of one continued thought can do: call a tool, search for tools, fold its memory. */
export type ActionKind = ValueOf<typeof actionKind>;

export const action = record('Action', {
  kind: actionKind,
  start: whole,
  end: whole,
  /** For a call: the function that it names; null if it names none, and for other kinds. */
  name: nullable(text),
  /** A call's arguments as JSON, a search's query; the body as written if the call is invalid. */
  input: text,
  /** The result shown to the policy; empty after a fold. */
  response: text,
  /** Carried out without a failure. */
  ok: flag,
  /** The policy could call the function: it is one of the question's own tools, or was found by a search. */
  offered: flag,
  /** Why it was not carried out (invalid JSON or arguments, a repetition, a limit); empty if it was. */
  fault: text,
  /** Number of its first record in `tool-calls`; -1 if no tool was called. */
  turn: whole,
});
/**
 * One action of an episode. `start` and `end` (exclusive) enclose the policy's own tokens in the response.
 */
export interface Action extends ValueOf<typeof action> {}

export const fold = record('Fold', {
  /** Response tokens before it; from here on `prompt` is the context. */
  at: whole,
  prompt: int32s,
  /** Tokens of the context that the fold replaced. */
  dropped: whole,
  episodic: text,
  working: text,
  tool: text,
  /** Which memories were made from the record of calls because the model gave none in the required form. */
  madeUp: list(text),
});
/** A fold: `prompt`, which holds the three memories, replaced the context so far. */
export interface Fold extends ValueOf<typeof fold> {}

export const episode = record('Episode', {
  /** `reference` = with the release's defects. */
  mode: choice('EpisodeMode', ['reference', 'repaired']),
  actions: list(named<Action>(action)),
  /** In order; empty = the whole response has one context. */
  folds: list(named<Fold>(fold)),
  /** Limits that ended or stopped something: `actions`, `context`, `folds`, `response`. */
  limits: list(text),
});
/** What a rollout of one continued thought (DeepAgent) did besides writing tokens. */
export interface EpisodeRecord extends ValueOf<typeof episode> {}

export const worldEnd = record('WorldEnd', {
  /** The environment ended the rollout. */
  done: flag,
  /** The sum of its rewards. */
  reward: real,
  /** Actions taken. */
  steps: whole,
});
/** The final state of a rollout's environment. */
export interface WorldEnd extends ValueOf<typeof worldEnd> {}

const context = record('Context', {
  /** Response tokens before it. */
  at: whole,
  prompt: int32s,
});
/** A context of a rollout that has several: response tokens from `at` on follow `prompt`. */
export interface Context extends ValueOf<typeof context> {}

const sessionCall = record('SessionCall', {
  /** Its number in the topic `calls`. */
  call: whole,
  /** Where its answer is in the response. */
  start: whole,
  end: whole,
});
/** A model call of a session. `end` is exclusive. */
export interface SessionCall extends ValueOf<typeof sessionCall> {}

export const sessionEnd = record('SessionEnd', {
  /** Contexts after the first, in order: sub-agents, compacted histories, conversations that start over. */
  contexts: list(named<Context>(context)),
  calls: list(named<SessionCall>(sessionCall)),
  /** The reward from the agent or a verifier; null = none was given. */
  reward: nullable(real),
  rewardReason: text,
  /** What else a verifier reported. */
  rewardParts: withDefault(map(real), {}),
  /** Exit code of its process; null = it has none, or was killed. */
  exitCode: nullable(whole),
  /** The end of its output. */
  output: text,
  /** Milliseconds from its start to its end, and how many of them went into model calls. */
  ms: real,
  modelMs: real,
});
/** How the session of a foreign agent went. */
export interface SessionEnd extends ValueOf<typeof sessionEnd> {}

export const rollout = record('Rollout', {
  /** `<question id>/<phase>-<round>/<index>` */
  id: text,
  question: named<Question>(question),
  index: whole,
  /** How many rollouts the group has. */
  groupSize: whole,
  seed: whole,
  prompt: int32s,
  /** Response tokens, tool results included. */
  tokens: int32s,
  /** Log-prob of each response token under the policy that sampled it; 0 for tool tokens. */
  logProbs: float32s,
  segments: list(named<Segment>(segment)),
  /** The response as text. */
  text,
  toolCalls: whole,
  /** Branch: index of the rollout it was cloned from and response tokens copied; null for a root. */
  parent: nullable(record('Parent', { index: whole, offset: whole })),
  /** The version that sampled its first token. */
  version: whole,
  status: rolloutStatus,
  finish,
  /** Why it failed or was cancelled; empty when done. */
  reason: text,
  startedMs: real,
  endedMs: real,
  /** Set if the rollout is one continued thought; its tokens are those of all contexts in order. */
  episode: withDefault(nullable(named<EpisodeRecord>(episode)), null),
  /** Set if it acted in an environment. */
  world: withDefault(nullable(named<WorldEnd>(worldEnd)), null),
  /** Set if a foreign agent made it. */
  session: withDefault(nullable(named<SessionEnd>(sessionEnd)), null),
});
/** One finished trajectory: the terminal record of (question, phase, round, index). */
export interface Rollout extends Omit<ValueOf<typeof rollout>, 'world' | 'session'> {
  /** The final state of its environment; left out = it has none. */
  readonly world?: WorldEnd | null;
  /** How the foreign agent's session went; left out = there was none. */
  readonly session?: SessionEnd | null;
}

/** The contexts of a rollout, in order: one, and one more for each fold or further context of a session. */
export function contextsOf({
  prompt,
  episode,
  session,
}: Pick<Rollout, 'prompt' | 'episode' | 'session'>): readonly Context[] {
  return [{ at: 0, prompt }, ...(episode?.folds ?? session?.contexts ?? [])];
}

/** The question's id, taken from a rollout's id. */
export function questionIdOf(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf('/', id.lastIndexOf('/') - 1)));
}

/** Id of a rollout: its question as it was asked, and its place in the group. */
export function rolloutId(
  of: Pick<Question, 'id' | 'phase' | 'round'>,
  index: number | string,
): string {
  return `${asked(of)}/${index}`;
}

export const rollouts = defineRunTopic<Rollout>({
  name: 'rollouts',
  about:
    'Finished trajectories, including failed and cancelled ones. Rollout writes it; score, judge and trainer read it.',
  shape: rollout as unknown as shapes.Shape<Rollout>,
  key: (value) => value.question.id,
  subjects: 'key',
  version: 8,
  large: true,
  identity: ({ id }) => id,
  moment: ({ segments, version }) => Math.max(version, ...segments.map((part) => part.version)),
  keyName: 'question id',
  line: ({ question: q, index, finish: end, tokens, toolCalls, version }) =>
    `rollout ${index} of ${q.id}, ${q.phase} ${q.round}: ${end}, ${counted(tokens.length, 'token')}, ${counted(toolCalls, 'call')}, v${version}`,
  links: ({ question: { id } }, ref) => [
    { label: 'trajectory', path: `t/${ref}` },
    questionLink(id),
  ],
});
