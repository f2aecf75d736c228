/**
 * What must be true of a history, whatever went wrong in it, read from its topics and disk.
 */
import { createHash } from 'node:crypto';
import { type Log, recordsOf, type Topic } from '../../streams/index.ts';
import { type MemoryStore, openMemoryLog } from '../../streams/memory/index.ts';
import {
  allTopics,
  examineRun,
  type Question,
  type Rollout,
  topics,
  versionDue,
  type Weights,
} from '../../topics/index.ts';
import type { Disk } from '../world/disk.ts';
import { roundsOf, type Shape } from '../world/shape.ts';
import { answerTo } from '../world/tools.ts';
import type { VirtualClock } from '../world/virtualClock.ts';

/** What a world leaves. */
export interface Remains {
  readonly shape: Shape;
  readonly store: MemoryStore;
  readonly disk: Disk;
  readonly clock: VirtualClock;
  /** The run reached its end. */
  readonly finished: boolean;
}

/** What is wrong with it, one sentence each; empty if all laws hold. */
export async function breaches(remains: Remains): Promise<readonly string[]> {
  const { store, clock, finished } = remains;
  const log = openMemoryLog({ store, clock });
  try {
    const { findings } = await examineRun(log);
    // These worlds deliver commands twice on purpose; another law checks the effect.
    const told = findings.filter(({ rule, where }) => rule !== 'once' || where !== 'control');
    const said = told.map(({ rule, where, what }) => `${rule}: ${where}: ${what}`);
    const records = await recordsIn(log);
    return [
      ...said,
      ...(finished ? unsettled(store) : []),
      ...order(records),
      ...stale(records, remains.shape),
      ...undue(records, remains.shape),
      ...controlled(records),
      ...lettered(records),
      ...answered(records),
      ...(finished ? complete(records, remains.shape) : []),
      ...onDisk(records, remains),
      ...kept(records, remains),
    ];
  } finally {
    await log.close();
  }
}

/** One digest of everything in the log: equal for equal histories. */
export function digestOfAll(store: MemoryStore): string {
  const hash = createHash('sha256');
  for (const [topic, { end }] of store.heads()) {
    hash.update(`${topic} ${end}\0`);
    for (let offset = 0; offset < end; offset++) hash.update(store.sealed(topic, offset)!);
    hash.update(JSON.stringify(store.groups(topic)));
  }
  return hash.digest('hex');
}

/** The digests of all versions, in order: equal if the same was learnt. */
export async function weightsIn(
  store: MemoryStore,
  clock: VirtualClock,
): Promise<readonly string[]> {
  const log = openMemoryLog({ store, clock });
  const all = await read(log, topics.weights);
  await log.close();
  return all.map(({ version, digest }) => `${version}:${digest}`);
}

async function read<T>(log: Log, topic: Topic<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const { value } of recordsOf(log, topic, { from: { kind: 'earliest' } }))
    all.push(value);
  return all;
}

async function recordsIn(log: Log) {
  return {
    questions: await read(log, topics.questions),
    rollouts: await read(log, topics.rollouts),
    scored: await read(log, topics.scored),
    selected: await read(log, topics.selected),
    batches: await read(log, topics.batches),
    weights: await read(log, topics.weights),
    metrics: await read(log, topics.metrics),
    letters: await read(log, topics.deadLetters),
    control: await read(log, topics.control),
    toolCalls: await read(log, topics.toolCalls),
  };
}

type Records = Awaited<ReturnType<typeof recordsIn>>;

/** A run that ended has settled everything. */
function unsettled(store: MemoryStore): string[] {
  return allTopics.flatMap(({ name }) => {
    const { end } = store.head(name);
    return store
      .groups(name)
      .flatMap(([group, { low }]) =>
        low < end
          ? [`the run ended, but ${group} has settled ${name} only up to ${low} of ${end}`]
          : [],
      );
  });
}

/** Versions and steps rise by one, in the order of their topics. */
function order({ weights, batches }: Records): string[] {
  const wrong = (name: string, numbers: readonly number[], from: number): string[] =>
    numbers.flatMap((number, i) =>
      number === i + from ? [] : [`${name} ${number} is at place ${i}, where ${i + from} belongs`],
    );
  return [
    ...wrong(
      'version',
      weights.map(({ version }) => version),
      0,
    ),
    ...wrong(
      'step',
      batches.map(({ step }) => step),
      1,
    ),
    ...weights.flatMap(({ version, controls }, i) => {
      const before = weights[i - 1]?.controls ?? 0;
      return controls < before ? [`version ${version} takes changes of settings back`] : [];
    }),
  ];
}

/** No rollout that is trained on comes from a version that is too old, or newer than its step. */
function stale({ rollouts, scored, batches }: Records, { settings }: Shape): string[] {
  const { lagMax } = settings;
  return batches.flatMap(({ step, version, groups }) =>
    groups.flatMap(({ scored: { offset } }) =>
      (scored[offset]?.rollouts ?? []).flatMap(({ offset: at }) => {
        const { id, segments } = rollouts[at] as Rollout;
        const versions = segments.map((segment) => segment.version);
        const old = versions.find((one) => one < version - lagMax || one > version);
        if (old === undefined) return [];
        return [
          `step ${step} of version ${version} trains on ${id} of version ${old}, lagMax ${lagMax}`,
        ];
      }),
    ),
  );
}

/** Rollouts that are not trained on, above all for evaluations, also come from the version they are due. */
function undue({ rollouts, weights }: Records, { settings }: Shape): string[] {
  const { lagMax, batchGroups } = settings;
  const known = weights.filter(({ roundsDone }, i) => weights[i - 1]?.roundsDone !== roundsDone);
  return rollouts.flatMap(({ id, question, segments }) => {
    if (question.schedule !== null) return [];
    const due = versionDue(question, known, { batchGroups, window: settings.explore });
    const wrong = segments.find(({ version }) =>
      lagMax === 0 ? version !== due : due === null || version < due - lagMax,
    );
    if (wrong === undefined) return [];
    return [
      `${id} was made by version ${wrong.version}; it was due version ${due}, lagMax ${lagMax}`,
    ];
  });
}

/** A change of a setting that is delivered twice counts once. */
function controlled({ control, weights }: Records): string[] {
  const changes = new Set(control.filter(({ kind }) => kind === 'set').map(({ id }) => id)).size;
  return weights.flatMap(({ version, controls }) =>
    controls > changes ? [`version ${version} counts ${controls} changes of ${changes}`] : [],
  );
}

/** No record in these worlds is poison; a flywheel records requests without an answer. */
function lettered({ letters }: Records): string[] {
  return letters
    .filter(
      ({ origin, reason }) => origin !== 'questions' || !/no reply|cannot answer/.test(reason),
    )
    .map(({ origin, place, reason }) => `dead letter of ${origin}@${place}: ${reason}`);
}

/** The result of a call is what the tool said to this very call, however often and late it said it. */
function answered({ toolCalls }: Records): string[] {
  return toolCalls.flatMap((call) =>
    !call.ok || call.output === answerTo(call)
      ? []
      : [`call ${call.rolloutId}#${call.turn} got the answer to another: ${call.output}`],
  );
}

/** Everything planned was done. */
function complete({ questions, rollouts, weights, metrics, selected }: Records, shape: Shape) {
  const found: string[] = [];
  const evaluations = metrics.filter(({ name }) => name === 'eval/questions').length;
  const rounds = roundsOf(shape);
  if (evaluations !== rounds + 1) found.push(`${evaluations} evaluations of ${rounds + 1}`);
  const done = (weights.at(-1) as Weights | undefined)?.roundsDone ?? -1;
  if (done !== rounds) found.push(`the last version ends round ${done} of ${rounds}`);
  const explored = questions.filter(({ phase }: Question) => phase === 'explore').length;
  const verdicts = selected.length;
  if (verdicts !== explored) found.push(`${verdicts} verdicts on ${explored} candidates`);
  const once = new Set(rollouts.map(({ id }) => id));
  if (once.size !== rollouts.length) found.push('a rollout is there twice');
  return found;
}

/** The disk has the versions that a rule keeps and the one that training continues from, and few others. */
function kept({ weights }: Records, { shape, disk, finished }: Remains): string[] {
  const { keepVersions, keepRounds, keepEvery, keepBest } = shape.settings;
  if (weights.length === 0 || keepVersions === 'auto') return [];
  const there = ({ uri }: Weights): boolean => disk.has(uri);
  const ends = weights.filter((made, i) => i > 0 && made.roundsDone > weights[i - 1]!.roundsDone);
  const newest = keepVersions === 0 ? weights : weights.slice(-Math.max(2, keepVersions));
  const rule = new Set([
    ...[weights[0]!, ...newest, ...(keepRounds === 0 ? ends : ends.slice(-keepRounds))],
    ...weights.filter(({ version }) => keepEvery > 0 && version % keepEvery === 0),
  ]);
  const missing = [...rule].filter((made) => !there(made));
  // The newest one's may not be written yet.
  const states = weights.filter(({ state }) => state !== '').slice(-2);
  const trainable = states.some((made) => there(made) && disk.has(made.state));
  const more = weights.filter((made) => !rule.has(made) && there(made));
  return [
    ...missing.map(({ version }) => `the weights of version ${version} are to stay, and are gone`),
    ...(states.length < 2 || trainable ? [] : ['the version that training continues from is gone']),
    ...(finished && more.length > keepBest + MORE_MAX
      ? [`${more.length} versions are there that no rule keeps`]
      : []),
  ];
}

/** Versions that are needed for a while, or that a crash left. */
const MORE_MAX = 3;

/** What a manifest names exists and matches it: for the newest version, from which everything continues. */
function onDisk({ weights }: Records, { disk }: Remains): string[] {
  const newest = weights.at(-1);
  if (newest === undefined) return [];
  try {
    disk.read(newest);
    return [];
  } catch (error) {
    return [`version ${newest.version} has a manifest, but ${(error as Error).message}`];
  }
}
