/**
 * The records of the fifteen topics: each is one shape, which is both its Avro contract and its TypeScript type.
 *
 * A record is plain, readonly data. Token ids and log-probs are typed arrays (packed little-endian bytes on the wire,
 * never JSON arrays). The order of fields is the order on the wire. To change a contract: append fields with
 * `withDefault`, rename them with `formerly`, raise the topic's version in `topics.ts`, and add a fixture of the new version in test/streams/fixtures.
 */
import {
  choice,
  flag,
  float32s,
  formerly,
  int32s,
  list,
  map,
  named,
  nullable,
  real,
  record,
  text,
  type ValueOf,
  whole,
  withDefault,
} from './contracts/shapes.ts';

export const position = record('Position', {
  partition: whole,
  offset: whole,
});
/** Where a record lies in its topic. The embedded log has the one partition 0. */
export interface Position extends ValueOf<typeof position> {}

const ability = choice('Ability', ['math', 'qa']);
/** What a question asks for: `math` = reasoning to a number or formula, `qa` = knowledge that has to be looked up. */
export type Ability = ValueOf<typeof ability>;

const phase = choice('Phase', ['explore', 'practice', 'evaluate', 'evolve', 'prefer']);
/**
 * Why a question is rolled out: `explore` = direct rollouts that Pareto sampling judges, `practice` = rollouts that are
 * trained on, `evaluate` = rollouts that are only measured, `evolve` = the flywheel makes a pool of trajectories of it,
 * `prefer` = rollouts that become preference pairs.
 */
export type Phase = ValueOf<typeof phase>;

export const schedule = record('Schedule', {
  index: whole,
  of: whole,
  version: whole,
});
/**
 * A group's place in its round: group `index` of `of`; the round begins at policy `version` (-1: at the one that ends the
 * round before).
 */
export interface Schedule extends ValueOf<typeof schedule> {}

export const question = record('Question', {
  id: text,
  question: text,
  answers: list(text),
  source: text,
  ability,
  phase,
  /** Curriculum round, from 1; 0 = before any training. */
  stage: whole,
  /** Set for groups that are trained on: all of phase `practice`, and candidates that are not rolled out again. */
  schedule: nullable(named<Schedule>(schedule)),
});
/** One task. The same question may come again in another stage; (id, phase, stage) is unique in a run. */
export interface Question extends ValueOf<typeof question> {}

export const segment = record('Segment', {
  kind: choice('SegmentKind', ['policy', 'tool']),
  start: whole,
  end: whole,
  /** Policy version that sampled it; for a tool segment, the version of the segment before it. */
  version: whole,
  /** ARPO step entropy of a policy segment (arpo §1.2); null where it was not measured. */
  entropy: nullable(real),
  /** Tag of the tool that wrote a tool segment, or that a policy segment called (several with commas between); null otherwise. */
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
  /** Of a call: the function that it names; null where it names none, and of the other kinds. */
  name: nullable(text),
  /** Of a call its arguments as JSON, of a search its query; of a call that is none, its body as it was written. */
  input: text,
  /** What the policy was shown for it; empty after a fold. */
  response: text,
  /** Carried out, and no failure. */
  ok: flag,
  /** The function was one that the policy may call: of the question's own tools, or found by a search. */
  offered: flag,
  /** Why it was not carried out (no JSON, arguments against the schema, asked before, a limit); empty where it was. */
  fault: text,
  /** Number of its first record in `tool-calls`; -1 where nothing was asked. */
  turn: whole,
});
/** One action of an episode. `start` and `end` (exclusive) are offsets into the response: the policy's own tokens of it. */
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
  /** Which memories were made from the record of the calls because the model gave none of the wanted form. */
  madeUp: list(text),
});
/** A fold: the context so far gave way to `prompt`, which holds the three memories. */
export interface Fold extends ValueOf<typeof fold> {}

export const episode = record('Episode', {
  /** `reference` = with the release's defects. */
  mode: choice('EpisodeMode', ['reference', 'repaired']),
  actions: list(named<Action>(action)),
  /** In order; none = the whole response has one context. */
  folds: list(named<Fold>(fold)),
  /** Limits that ended or stopped something: `actions`, `context`, `folds`, `response`. */
  limits: list(text),
});
/** What a rollout of one continued thought (DeepAgent) did besides writing tokens. */
export interface EpisodeRecord extends ValueOf<typeof episode> {}

export const rollout = record('Rollout', {
  /** `<question id>/<phase>-<stage>/<index>` */
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
  /** Of a rollout of one continued thought; null for all others. Its tokens are those of all contexts, one after the other. */
  episode: withDefault(nullable(named<EpisodeRecord>(episode)), null),
});
/** One finished trajectory: the terminal record of (question, phase, stage, index). */
export interface Rollout extends ValueOf<typeof rollout> {}

export const toolCall = record('ToolCall', {
  rolloutId: text,
  questionId: text,
  /** Number of the call within its rollout, from 0. */
  turn: whole,
  tool: text,
  input: text,
  output: text,
  ok: flag,
  attempts: whole,
  cached: flag,
  ms: real,
});
/** One tool call, as it went. What makes replay possible. */
export interface ToolCall extends ValueOf<typeof toolCall> {}

export const reward = record('Reward', {
  score: real,
  parts: map(real),
});
/** The reward of one rollout with its parts (`raw`, `tool`, `length`, `format`, …). */
export interface Reward extends ValueOf<typeof reward> {}

export const scored = record('Scored', {
  question: named<Question>(question),
  rewards: list(named<Reward>(reward)),
  toolCalls: list(whole),
  /** Response length in tokens, tool results included. */
  lengths: list(whole),
  /** Group-relative advantage per rollout. */
  advantages: list(real),
  /** Where its rollouts lie in `rollouts`. */
  rollouts: list(named<Position>(position)),
  /** Oldest policy version in the group. */
  version: whole,
  /** Per rollout what the tokens of its actions have beside `advantages`; none where the method has no such thing. */
  actionAdvantages: withDefault(list(real), []),
});
/** One group, scored. `rollouts[i]` and `rewards[i]` belong together. */
export interface Scored extends ValueOf<typeof scored> {}

export const selected = record('Selected', {
  question: named<Question>(question),
  /** Objective values, in the order that the sampler states (dispersion of tool calls, of correctness). */
  objectives: list(real),
  front: whole,
  /** Crowding distance; null unless it was computed (the one truncated front). Infinity is allowed. */
  distance: nullable(real),
  kept: flag,
  /** `selected`, `dominated`, `crowded`, `uniform` (all right or all wrong). */
  why: text,
  /** Among the kept: place and number; -1 and the number when not kept. */
  index: whole,
  of: whole,
  /** Policy version at which the round begins. */
  version: whole,
  /** Where the judged group lies in `scored`. */
  scored: named<Position>(position),
});
/** The Pareto verdict on a group. */
export interface Selected extends ValueOf<typeof selected> {}

const windowEnd = choice('WindowEnd', ['time', 'full']);
/** Why a window took no more: its time was over, or it had all it may take. */
export type WindowEnd = ValueOf<typeof windowEnd>;

export const window = record('Window', {
  /** Whose candidates it holds. */
  stage: whole,
  /** Candidates that it took. */
  size: whole,
  /** When its first candidate came, and when it was cut, by the clock of the process that cut it. */
  beganMs: real,
  cutMs: real,
  why: windowEnd,
});
/** A window of candidates that was cut by time: who judges them waits for so many. */
export interface Window extends ValueOf<typeof window> {}

const controlKind = choice('ControlKind', ['set', 'pause', 'resume', 'stop']);
/** What a run is told from outside: a setting, to begin nothing new, to go on, to stop in order. */
export type ControlKind = ValueOf<typeof controlKind>;

export const control = record('Control', {
  /** Of the request: one that is delivered twice is written once. */
  id: text,
  kind: controlKind,
  /** Of `set`: the setting, and its value as JSON; else empty. */
  setting: text,
  value: text,
  /** Who asked: user and host. */
  by: text,
  askedMs: real,
});
/** What a run was told while it went on. From which step a setting holds is said by the manifests (`controls`). */
export interface Control extends ValueOf<typeof control> {}

const batchKind = choice('BatchKind', ['policy', 'sft', 'dpo']);
/** What a step trains on: groups (`policy`), demonstrations (`sft`) or preference pairs (`dpo`). */
export type BatchKind = ValueOf<typeof batchKind>;

export const exampleRef = record('ExampleRef', {
  questionId: text,
  position: named<Position>(position),
  index: whole,
});
/** One example of a step: number `index` of the record at `position` in `demonstrations` (sft) or `pairs` (dpo). */
export interface ExampleRef extends ValueOf<typeof exampleRef> {}

export const batch = record('Batch', {
  /** Optimiser step, from 1. */
  step: whole,
  stage: whole,
  /** Policy version that the step starts from. */
  version: whole,
  groups: list(record('GroupRef', { questionId: text, scored: named<Position>(position) })),
  /** The last step of its round. */
  last: flag,
  kind: withDefault(batchKind, 'policy'),
  /** Empty for `policy`; `groups` is empty for the others. */
  examples: withDefault(list(named<ExampleRef>(exampleRef)), []),
  /** Place of this step among the steps of its round, and their number where the schedule knows it (learning-rate schedules); else 0 of 0. */
  index: withDefault(whole, 0),
  of: withDefault(whole, 0),
});
/** The schedule: what made step k. The order is data. */
export interface Batch extends ValueOf<typeof batch> {}

export const weights = record('Weights', {
  version: whole,
  /** -1 for the first version. */
  parent: whole,
  step: whole,
  /** Rounds finished with this version. */
  roundsDone: whole,
  /** What engines load. A path without a scheme is relative to the run folder. */
  uri: formerly('file', text),
  /** Of what lies there: the SHA-256 of a file or folder; null where its kind has none. */
  digest: formerly('sha256', nullable(text)),
  bytes: whole,
  /** What training goes on from (the optimiser's state), written like `uri`; empty when there is none. */
  state: formerly('optimiser', text),
  /** Where the trainer had read to: position in `batches` of the step that made it; null for the first. */
  consumed: nullable(named<Position>(position)),
  /** Of the state; null where there is none, or where the manifest is older than version 2 of its topic. */
  stateDigest: withDefault(nullable(text), null),
  /** `digest` of the parent's manifest; null for the first, or where the manifest is older than version 2 of its topic. */
  parentDigest: withDefault(nullable(text), null),
  /** Settings of the `control` topic that hold for what is due this version: so many of its records of kind `set`, from the first on. */
  controls: withDefault(whole, 0),
});
/**
 * A manifest of weights. Tensors never lie in the topic (claim check): it says where they are, in words that only the
 * kind of engine that wrote them reads (`Checkpoint` in model/engine.ts).
 */
export interface Weights extends ValueOf<typeof weights> {}

export const metric = record('Metric', {
  name: text,
  step: whole,
  stage: whole,
  value: real,
  atMs: real,
});
/** One number at one step. Names as in docs/metrics.md. */
export interface Metric extends ValueOf<typeof metric> {}

export const evolved = record('Evolved', {
  question: named<Question>(question),
  round: whole,
  /** Index of its parent in the question's buffer; -1 for the first. */
  parent: whole,
  action: text,
  correct: flag,
  toolCalls: whole,
  text,
  /** Place in the question's pool of `of` trajectories. */
  index: withDefault(whole, 0),
  of: withDefault(whole, 0),
  /** Policy version that rolled it out. */
  version: withDefault(whole, 0),
});
/** One flywheel trajectory. */
export interface Evolved extends ValueOf<typeof evolved> {}

export const chatCall = record('ChatCall', {
  name: text,
  /** As JSON, or what the data has where that is not JSON. */
  arguments: text,
  /** By which a tool turn names it; empty where the data has none. */
  id: text,
});
/** A function call of an assistant turn. */
export interface ChatCall extends ValueOf<typeof chatCall> {}

export const chatTurn = record('ChatTurn', {
  role: choice('ChatRole', ['system', 'user', 'assistant', 'tool']),
  text,
  /** The thinking of an assistant turn where the data keeps it apart from the text; else empty. */
  thinking: text,
  calls: list(named<ChatCall>(chatCall)),
  /** Of a tool turn: which tool, and which call it answers; empty where the data does not say. */
  name: text,
  callId: text,
  /** Whether fine-tuning learns it; only assistant turns are learnt. */
  learnt: flag,
});
/** One turn of a given conversation. */
export interface ChatTurn extends ValueOf<typeof chatTurn> {}

export const demonstration = record('Demonstration', {
  /** Index in the pool. */
  index: whole,
  round: whole,
  action: text,
  toolCalls: whole,
  text,
  /** A conversation that is more than its question and one answer; then the question and `text` are only what people are shown. */
  turns: withDefault(list(named<ChatTurn>(chatTurn)), []),
  /** JSON list of the functions that the conversation may call; empty for none. */
  functions: withDefault(text, ''),
});
/** A trajectory to fine-tune on: from the pool of its question, or from a data file (action `given`). */
export interface Demonstration extends ValueOf<typeof demonstration> {}

export const demonstrations = record('Demonstrations', {
  question: named<Question>(question),
  /** How hard the question is for the policy, by the method's own classes; empty where it has none. */
  difficulty: text,
  kept: list(named<Demonstration>(demonstration)),
  dropped: list(record('Dropped', { index: whole, why: text })),
  /** Newest policy version in the pool: the fine-tuning starts from it. */
  version: whole,
});
/** What a question gives to fine-tuning: the trajectories that passed the quality filter, and why the others did not. */
export interface Demonstrations extends ValueOf<typeof demonstrations> {}

export const preferencePair = record('PreferencePair', {
  chosen: text,
  rejected: text,
  /** By which rule. */
  why: text,
});
/** A better and a worse response to one question. */
export interface PreferencePair extends ValueOf<typeof preferencePair> {}

export const pairs = record('Pairs', {
  question: named<Question>(question),
  /** How hard the question is for the policy, by the method's own classes; empty where it has none. */
  difficulty: text,
  pairs: list(named<PreferencePair>(preferencePair)),
  /** Newest policy version of the responses: the preference steps start from it. */
  version: whole,
});
/** What a question gives to preference optimisation; no pairs where its responses do not differ enough. */
export interface Pairs extends ValueOf<typeof pairs> {}

export const foldRecord = record('FoldRecord', {
  rolloutId: text,
  questionId: text,
  /** Number of the fold in its rollout, from 0. */
  fold: whole,
  /** Response tokens before it. */
  at: whole,
  /** Tokens of the context that it replaced, and of the one that it made. */
  dropped: whole,
  promptTokens: whole,
  /** SHA-256 of the new context's token ids, little-endian. */
  promptDigest: text,
  /** The memories as they stand in the context. */
  episodic: text,
  working: text,
  tool: text,
  /** Which of them were made from the record of the calls. */
  madeUp: list(text),
});
/** One fold of a rollout, to be looked at; the rollout itself has the context that it made. */
export interface FoldRecord extends ValueOf<typeof foldRecord> {}

export const deadLetter = record('DeadLetter', {
  /** Topic or file that it came from. */
  origin: text,
  /** Line of a file (from 1), or offset in a topic. */
  place: whole,
  key: text,
  field: text,
  reason: text,
  payload: text,
});
/** What could not be read or processed, why, and where it came from. */
export interface DeadLetter extends ValueOf<typeof deadLetter> {}
