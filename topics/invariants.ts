/**
 * The invariants of a run over all of its topics (design: one terminal record per rollout, every question
 * accounted for, no gap and no duplicate in the schedule and the weights, every reference resolves). Pure:
 * records in, findings out.
 *
 *     const invariants = new Invariants(standing); for (each topic in the order of allTopics) for (each
 *     record before its end) invariants.see(topic, value, position); invariants.findings();
 *
 * What an unfinished run has yet to do is not a finding: completeness is required only where the readers of a
 * topic have settled all of it. Ids and offsets are held in memory, records are not.
 */

import { counted } from '../base/text/index.ts';
import {
  type Examined,
  examine,
  type Finding,
  type Laws,
  type Look,
} from '../streams/doctor/index.ts';
import { type Log, Progress, type Standing, type Topic } from '../streams/index.ts';
import {
  allTopics,
  asked,
  type Batch,
  type Evolved,
  type Position,
  type Question,
  type Rollout,
  type Scored,
  type Selected,
  type ToolCall,
  topics,
  type Weights,
} from './all.ts';

/** What is known about the rollouts of one question, as it was asked. */
interface Group {
  readonly size: number;
  readonly indices: Set<number>;
  scored: boolean;
}

/** A reference, looked up once everything has been seen. */
interface PendingReference {
  readonly from: string;
  readonly field: string;
  readonly topic: string;
  readonly position: Position;
  /** The subject that the target must have; '' = any. */
  readonly about: string;
}

const UNREADABLE = '?';
/** If one of these is torn, nothing is missing for certain. */
const TORN_BY = ['questions', 'rollouts', 'evolved', 'scored', 'weights'];

const FAULT =
  'this is a bug in a stage or in the log: keep the run folder and report it with this line';

/** Where the records of a run come from. */
export interface Origin {
  /**
   * Made from the records of another run: its rollouts were sampled by versions of that run, and questions
   * that only measure are left out once its weights are others.
   */
  readonly replayed?: boolean;
}

/** The laws of a run; see the top of this file. */
export class Invariants implements Laws {
  readonly #standing: Standing;
  readonly #replayed: boolean;
  readonly #found: Finding[] = [];
  /** Identities by topic, with the place that had it first. */
  readonly #first = new Map<string, Map<string, string>>();
  /** The subject of the record at a position. */
  readonly #about = new Map<string, Map<string, string>>();
  readonly #references: PendingReference[] = [];
  /** Topics with unreadable records. */
  readonly #torn = new Set<string>();
  readonly #groups = new Map<string, Group>();
  readonly #kept = new Set<string>();
  readonly #pools = new Map<string, { readonly of: number; readonly indices: Set<number> }>();
  readonly #steps = new Map<number, Batch['version']>();
  readonly #trained = new Map<string, number>();
  readonly #versions = new Map<number, Weights>();
  readonly #sampled = new Set<number>();
  /** Questions that need no rollouts. */
  readonly #leftOut = new Set<string>();
  /** Tool calls of unknown rollouts. */
  readonly #strayCalls: string[] = [];

  constructor(standing: Standing, { replayed = false }: Origin = {}) {
    this.#standing = standing;
    this.#replayed = replayed;
  }

  see(topic: Topic<unknown>, value: unknown, position: Position): void {
    this.#once(topic, value, placeOf(position));
    this.#remember(topic, value, placeOf(position));
    const look = this.#looks[topic.name];
    // Each is only given records of its topic.
    look?.(value as never);
  }

  /** A record that exists but cannot be read: neither it nor its topic as a whole is checked. */
  unreadable(topic: Topic<unknown>, position: Position): void {
    this.#aboutIn(topic.name).set(placeOf(position), UNREADABLE);
    this.#torn.add(topic.name);
  }

  findings(): readonly Finding[] {
    this.#resolve();
    this.#questionsAnswered();
    this.#scheduleWhole();
    this.#weightsWhole();
    for (const call of this.#strayCalls) {
      this.#tell(
        'reference',
        'tool-calls',
        `call ${call} belongs to a rollout that does not exist`,
      );
    }
    return this.#found;
  }

  readonly #looks: Readonly<Record<string, (value: never) => void>> = {
    [topics.questions.name]: (value: Question) => {
      if (this.#replayed && value.phase === 'evaluate') this.#leftOut.add(asked(value));
    },
    [topics.rollouts.name]: (value: Rollout) => this.#rollout(value),
    [topics.toolCalls.name]: (value: ToolCall) => this.#toolCall(value),
    [topics.scored.name]: (value: Scored) => this.#scored(value),
    [topics.selected.name]: (value: Selected) => {
      if (value.kept) this.#kept.add(asked({ ...value.question, phase: 'practice' }));
    },
    [topics.batches.name]: (value: Batch) => this.#batch(value),
    [topics.weights.name]: (value: Weights) => void this.#versions.set(value.version, value),
    [topics.evolved.name]: (value: Evolved) => this.#evolved(value),
  };

  /** A record occurs once. Dead letters may repeat: the same row can be bad in several starts. */
  #once(topic: Topic<unknown>, value: unknown, place: string): void {
    if (topic.name === topics.deadLetters.name) return;
    const known = this.#first.get(topic.name) ?? new Map<string, string>();
    this.#first.set(topic.name, known);
    const id = topic.identity(value);
    const before = known.get(id);
    if (before === undefined) known.set(id, place);
    else {
      const what = `${id} occurs twice, at offsets ${before} and ${place}, instead of once`;
      this.#tell('once', topic.name, what);
    }
  }

  #remember(topic: Topic<unknown>, value: unknown, place: string): void {
    const question = (value as { question?: Question }).question;
    const named = typeof question === 'object' ? asked(question) : topic.identity(value);
    this.#aboutIn(topic.name).set(place, named);
    for (const { field, topic: to, position } of topic.references?.(value) ?? []) {
      const from = `${topic.name} ${topic.identity(value)}`;
      const of = this.#aboutOf(topic, value, field);
      this.#references.push({ from, field, topic: to.name, position, about: of });
    }
  }

  /** The subject that the target of a reference must have. */
  #aboutOf(topic: Topic<unknown>, value: unknown, field: string): string {
    if (topic.name === topics.scored.name || topic.name === topics.selected.name) {
      return asked((value as Scored).question);
    }
    if (topic.name === topics.weights.name) return String((value as Weights).step);
    const place = Number(field.split('.')[1]);
    const { groups, examples } = value as Batch;
    const { questionId } = field.startsWith('groups') ? groups[place]! : examples[place]!;
    return `${questionId}/`;
  }

  #aboutIn(topic: string): Map<string, string> {
    const about = this.#about.get(topic) ?? new Map<string, string>();
    this.#about.set(topic, about);
    return about;
  }

  #rollout(value: Rollout): void {
    const { id, question, index, groupSize } = value;
    const key = asked(question);
    const group = this.#groups.get(key) ?? { size: groupSize, indices: new Set(), scored: false };
    this.#groups.set(key, group);
    group.indices.add(index);
    for (const { version } of value.segments) this.#sampled.add(version);
    const wrong = wrongOf(value, group.size);
    if (wrong !== null) this.#tell('rollout-whole', 'rollouts', `${id} ${wrong}`);
  }

  #toolCall({ rolloutId, turn }: ToolCall): void {
    if (this.#first.get(topics.rollouts.name)?.has(rolloutId)) return;
    // A trajectory of the flywheel, or a rollout that was only measured: its question must exist.
    const parts = rolloutId.split('/');
    const owners = parts.map((_, i) => parts.slice(0, i).join('/'));
    const questions = this.#first.get(topics.questions.name);
    const known =
      this.#torn.size > 0 ||
      owners.some((owner) => questions?.has(owner) || this.#groups.has(owner));
    if (!known) this.#strayCalls.push(`${rolloutId}#${turn}`);
  }

  #scored(value: Scored): void {
    const { question, rewards, advantages, rollouts, toolCalls, lengths } = value;
    const key = asked(question);
    const group = this.#groups.get(key);
    if (group !== undefined) group.scored = true;
    const broken = rewards.findIndex(({ score, parts }) =>
      [score, ...Object.values(parts)].some((number) => !Number.isFinite(number)),
    );
    if (broken >= 0) {
      const { score, parts } = rewards[broken]!;
      this.#tell(
        'finite',
        'scored',
        `${key} has the reward ${score} (parts ${numbersOf(parts)}) for rollout ${broken}: a step that uses it trains nothing`,
        'correct the reward, then score the same rollouts again: millrace replay RUN --from scored --into NAME',
      );
    }
    const counts = new Set(
      [rewards, advantages, rollouts, toolCalls, lengths].map((x) => x.length),
    );
    const complete = group === undefined || rollouts.length === group.size;
    if (counts.size === 1 && complete) return;
    this.#tell(
      'group-whole',
      'scored',
      `${key} has ${counted(rollouts.length, 'rollout')}, ${counted(rewards.length, 'reward')} and ${counted(advantages.length, 'advantage')}; its group has ${counted(group?.size ?? 0, 'rollout')}`,
    );
  }

  #batch({ step, version, groups, kind }: Batch): void {
    this.#steps.set(step, version);
    if (kind !== 'policy') return;
    for (const { scored, questionId } of groups) {
      const before = this.#trained.get(placeOf(scored));
      if (before !== undefined && before !== step) {
        const what = `steps ${before} and ${step} both train on the group of ${questionId} at scored@${placeOf(scored)}`;
        this.#tell('trained-once', 'batches', what);
      }
      this.#trained.set(placeOf(scored), step);
    }
  }

  #evolved({ question, index, of }: Evolved): void {
    const key = asked(question);
    const pool = this.#pools.get(key) ?? { of, indices: new Set() };
    this.#pools.set(key, pool);
    pool.indices.add(index);
  }

  #resolve(): void {
    for (const { from, field, topic, position, about } of this.#references) {
      const there = this.#about.get(topic)?.get(placeOf(position));
      if (there === UNREADABLE) continue;
      const place = `${topic}@${placeOf(position)}`;
      if (there === undefined) {
        this.#tell('reference', from, `${field} points to ${place}, where there is no record`);
      } else if (!(about.endsWith('/') ? there.startsWith(about) : there === about)) {
        const what = `${field} points to ${place}, which is about ${there}, not ${about}`;
        this.#tell('reference', from, what);
      }
    }
  }

  /** Once every reader has read all of a topic, each of its questions must have ended. */
  #questionsAnswered(): void {
    for (const [key, { size, indices }] of this.#groups) {
      if (indices.size === size || this.#torn.has('rollouts')) continue;
      const what = `${key} has ${indices.size} of ${counted(size, 'rollout')}; a group is written as a whole`;
      this.#tell('group-whole', 'rollouts', what);
    }
    for (const [key, { of, indices }] of this.#pools) {
      if (of === 0 || indices.size === of || this.#torn.has('evolved')) continue;
      const pool = of === 1 ? '1 trajectory' : `${of} trajectories`;
      this.#tell('group-whole', 'evolved', `${key} has ${indices.size} of ${pool}`);
    }
    if (this.#read('questions')) {
      for (const key of this.#first.get('questions')?.keys() ?? []) this.#answered(key);
    }
    if (this.#read('selected', 'practice')) for (const key of this.#kept) this.#answered(key);
    if (!this.#read('rollouts')) return;
    for (const [key, { scored }] of this.#groups) {
      if (scored) continue;
      this.#tell('accounted-for', 'rollouts', `the group of ${key} was read but never scored`);
    }
  }

  #answered(key: string): void {
    if (this.#groups.has(key) || this.#pools.has(key) || this.#leftOut.has(key)) return;
    const what = `${key} was read but has neither rollouts nor trajectories`;
    this.#tell('accounted-for', 'questions', what);
  }

  /** Whether the topic has readers (one of this name), and all have settled all of it. */
  #read(topic: string, group?: string): boolean {
    const end = this.#standing.ends[topic] ?? 0;
    if (TORN_BY.some((name) => this.#torn.has(name))) return false;
    const readers = Object.entries(this.#standing.settled[topic] ?? {}).filter(
      ([name]) => group === undefined || name === group,
    );
    return readers.length > 0 && readers.every(([, state]) => new Progress(state).settled === end);
  }

  #scheduleWhole(): void {
    this.#gapless('batches', 'step', [...this.#steps.keys()], 1);
    for (const [step, version] of this.#steps) {
      if (version === step - 1) continue;
      const what = `step ${step} starts from version ${version}, not ${step - 1}`;
      this.#tell('schedule', 'batches', what);
    }
  }

  #weightsWhole(): void {
    this.#gapless('weights', 'version', [...this.#versions.keys()], 0);
    for (const { version, parent, step, consumed } of this.#versions.values()) {
      if (parent !== version - 1 || step !== version || (consumed === null) !== (version === 0)) {
        const what = `version ${version} says it was made by step ${step} from version ${parent}`;
        this.#tell('schedule', 'weights', what);
      }
    }
    const newest = Math.max(-1, ...this.#versions.keys());
    for (const version of this.#sampled) {
      if (this.#versions.has(version) || this.#torn.has('weights') || this.#replayed) continue;
      const what = `rollouts were sampled by version ${version}, which has no manifest (the newest is ${newest})`;
      this.#tell('reference', 'rollouts', what);
    }
    if (!this.#read('batches', 'trainer')) return;
    for (const step of this.#steps.keys()) {
      if (this.#versions.has(step)) continue;
      this.#tell('accounted-for', 'batches', `step ${step} was read but made no weights`);
    }
  }

  #gapless(topic: string, name: string, numbers: readonly number[], from: number): void {
    const sorted = [...numbers].sort((a, b) => a - b);
    if (this.#torn.has(topic)) return;
    let due = from;
    for (const number of sorted) {
      if (number !== due) {
        const missing =
          number - 1 === due ? `${name} ${due} is` : `${name}s ${due} to ${number - 1} are`;
        this.#tell('gapless', topic, `${missing} missing, but ${name} ${number} exists`);
      }
      due = number + 1;
    }
  }

  #tell(rule: string, where: string, what: string, advice = FAULT): void {
    this.#found.push({ rule, where, what, advice });
  }
}

function numbersOf(parts: Readonly<Record<string, number>>): string {
  return Object.entries(parts)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

/** The offset, and the partition if there are several. */
function placeOf({ partition, offset }: Position): string {
  return partition === 0 ? String(offset) : `${partition}/${offset}`;
}

/** What is wrong with a rollout on its own; null if nothing is. */
function wrongOf(value: Rollout, size: number): string | null {
  const { index, groupSize, tokens, logProbs, segments, status, reason } = value;
  if (groupSize !== size) return `says that its group has ${groupSize}, another says ${size}`;
  if (index < 0 || index >= groupSize) return `has index ${index} in a group of ${groupSize}`;
  if (tokens.length !== logProbs.length) {
    return `has ${counted(tokens.length, 'token')} and ${counted(logProbs.length, 'log-prob')}`;
  }
  let end = 0;
  for (const segment of segments) {
    if (segment.start !== end) return `has a segment that starts at ${segment.start}, not ${end}`;
    end = segment.end;
  }
  if (end !== tokens.length)
    return `has segments up to ${end} of ${counted(tokens.length, 'token')}`;
  return status !== 'done' && reason === '' ? `is ${status} without a reason` : null;
}

/** Reads all of a run's log and checks it. `look` is called for every record that can be read. */
export function examineRun(log: Log, look?: Look, origin: Origin = {}): Promise<Examined> {
  return examine(log, allTopics, (standing) => new Invariants(standing, origin), look);
}
