/**
 * A cluster learned from a run: its rollouts as samples, the speed of its engine by requests at once, and
 * what a step, a version's publication and its loading took. The engine counts as one server on one GPU, the
 * trainer as one GPU: `--split 2+1` is twice as many servers.
 */
import { MillraceError } from '../../base/index.ts';
import { type CalibrateSettings, calibrateSettings } from '../../jobs/index.ts';
import { type Log, recordsOf, type Topic } from '../../streams/index.ts';
import { asked, type Metric, type Rollout, topics } from '../../topics/index.ts';
import { type Cluster, clusterSettings } from './cluster.ts';
import { decoding, type Timed } from './decoding.ts';
import { type Line, line } from './line.ts';
import type { Sample, Turn } from './samples.ts';

export interface Learned {
  readonly cluster: Cluster;
  /** Rollouts by group. */
  readonly groups: readonly (readonly Sample[])[];
  readonly rounds: Partial<CalibrateSettings> & { readonly selects: boolean };
}

/** How a run's job is divided into rounds; other settings do not change how long things take. */
const DIVISION = [
  ...(['rounds', 'select', 'explore', 'keep', 'epochs', 'exploreRollouts', 'heldOut'] as const),
  ...(['evaluationRollouts', 'evaluateEvery'] as const),
];

const EARLIEST = { from: { kind: 'earliest' } } as const;

/** Fails with code `PLAN` if the run is too short to learn from. */
export async function learned(
  log: Log,
  settings: Readonly<Record<string, unknown>>,
): Promise<Learned> {
  const seconds = await callSeconds(log);
  const rolled: Rolled[] = [];
  const groups = new Map<string, Sample[]>();
  await each(log, topics.rollouts, (rollout) => {
    if (rollout.status !== 'done' || rollout.parent !== null) return;
    const sample = sampleOf(rollout, seconds);
    const { id, startedMs: startMs, endedMs: endMs } = rollout;
    rolled.push({ ...sample, id, startMs, endMs });
    const key = asked(rollout.question);
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  });
  const steps = await stepsIn(log, rolled);
  if (rolled.length < ROLLOUTS_MIN || steps.length < STEPS_MIN) {
    throw new MillraceError(
      'PLAN',
      `the run has ${rolled.length} rollouts and ${steps.length} steps: at least ${ROLLOUTS_MIN} and ${STEPS_MIN} are needed to learn from; let it go on, or describe the cluster in a file`,
    );
  }
  const decode = decoding(rolled);
  const train = line(steps.map(({ tokens, trainMs }) => ({ x: tokens, y: trainMs })));
  if (decode.at0 + decode.slope <= 0 || train.at0 + train.slope <= 0) {
    throw new MillraceError(
      'PLAN',
      'the rollouts or steps of the run took no time that its records show: learn from a run of a real engine and trainer',
    );
  }
  const known = calibrateSettings.partial().loose().parse(settings) as Partial<CalibrateSettings>;
  const { rollouts = 8, batchGroups = 12, lagMax = 0, concurrency = 24 } = known;
  const cluster = clusterSettings.parse({
    servers: { gpus: 1, tokensPerSecond: speeds(decode), requestsMax: 1 << 20 },
    trainer: {
      gpus: 1,
      tokensPerSecond: 1000 / Math.max(1e-9, train.slope),
      stepSeconds: train.at0 / 1000,
      publishSeconds: median(steps.map(({ otherMs }) => otherMs)) / 1000,
    },
    weights: {
      loadSeconds: lagMax === 0 ? median(steps.flatMap((one) => one.loadMs ?? [])) / 1000 : 0,
    },
    rollout: {
      promptTokens: Math.max(1, Math.round(mean(rolled.map((one) => one.promptTokens)))),
      calls: mean(rolled.map(({ turns }) => turns.length - 1)),
    },
    job: { rollouts, batchGroups, lagMax, concurrency },
    leader: { coreSeconds: 0, tokensPerSecond: 1e12 },
  });
  const division = Object.fromEntries(
    DIVISION.flatMap((name) => (known[name] === undefined ? [] : [[name, known[name]]])),
  );
  const rounds = { ...division, selects: known.select !== undefined };
  return { cluster, groups: [...groups.values()], rounds };
}

const ROLLOUTS_MIN = 64;
const STEPS_MIN = 4;

async function each<T>(log: Log, topic: Topic<T>, take: (value: T) => void): Promise<void> {
  for await (const { value } of recordsOf(log, topic, EARLIEST)) take(value);
}

async function callSeconds(log: Log): Promise<ReadonlyMap<string, number>> {
  const seconds = new Map<string, number>();
  await each(log, topics.toolCalls, ({ rolloutId, turn, ms }) => {
    seconds.set(`${rolloutId}#${turn}`, ms / 1000);
  });
  return seconds;
}

function sampleOf({ id, prompt, segments }: Rollout, seconds: ReadonlyMap<string, number>): Sample {
  const turns: Turn[] = [];
  for (const { kind, start, end } of segments) {
    const last = turns.at(-1);
    const tokens = end - start;
    if (kind === 'policy' && (last === undefined || last.call !== null)) {
      turns.push({ tokens, call: null });
    } else if (last !== undefined && kind === 'policy') {
      turns[turns.length - 1] = { ...last, tokens: last.tokens + tokens };
    } else if (last !== undefined) {
      const number = turns.length - 1;
      const took = seconds.get(`${id}#${number}`) ?? 0;
      turns[number] = { ...last, call: { seconds: took, tokens } };
    }
  }
  // For a rollout that ended with an answered call.
  if (turns.at(-1)?.call) turns.push({ tokens: 1, call: null });
  return { promptTokens: prompt.length, turns };
}

/** A rollout, and its time. */
interface Rolled extends Sample, Timed {
  readonly id: string;
}

interface Step {
  readonly tokens: number;
  readonly trainMs: number;
  /** From its last rollout, or the version before, to its own version, in addition to training. */
  readonly otherMs: number;
  /** From its version to the first rollout of the next; null if unknown. */
  readonly loadMs: number | null;
}

async function stepsIn(log: Log, rolled: readonly Rolled[]): Promise<readonly Step[]> {
  const numbers = new Map<number, Map<string, Metric>>();
  await each(log, topics.metrics, (metric) => {
    if (!WANTED.has(metric.name)) return;
    const step = numbers.get(metric.step) ?? new Map();
    numbers.set(metric.step, step.set(metric.name, metric));
  });
  const ends = new Map(rolled.map(({ id, endMs }) => [id, endMs]));
  const starts = new Map(rolled.map(({ id, startMs }) => [id, startMs]));
  const steps: Step[] = [];
  let beforeMs = Number.NEGATIVE_INFINITY;
  let before: (Omit<Step, 'loadMs'> & { readonly atMs: number }) | null = null;
  for await (const { value: batch } of recordsOf(log, topics.batches, EARLIEST)) {
    const found = numbers.get(batch.step);
    const ms = found?.get('time/train_ms');
    const speed = found?.get('thr/train_tok_s');
    if (ms === undefined || speed === undefined) continue;
    const scored = await log.fetch(
      topics.scored,
      batch.groups.map((group) => group.scored),
    );
    const ids: string[] = [];
    for (const { value } of scored) {
      for (const { value: rollout } of await log.fetch(topics.rollouts, value.rollouts)) {
        ids.push(rollout.id);
      }
    }
    const lastMs = Math.max(beforeMs, ...ids.map((id) => ends.get(id) ?? beforeMs));
    const firstMs = Math.min(...ids.map((id) => starts.get(id) ?? Number.POSITIVE_INFINITY));
    if (before !== null) {
      const loadMs = firstMs - before.atMs;
      steps.push({ ...before, loadMs: loadMs >= 0 && Number.isFinite(loadMs) ? loadMs : null });
    }
    const otherMs = Math.max(0, ms.atMs - lastMs - ms.value);
    before = { tokens: (speed.value * ms.value) / 1000, trainMs: ms.value, otherMs, atMs: ms.atMs };
    beforeMs = ms.atMs;
  }
  return before === null ? steps : [...steps, { ...before, loadMs: null }];
}

const WANTED = new Set(['time/train_ms', 'thr/train_tok_s']);

/** Tokens a second by requests at once, where a token takes `at0 + slope · requests` milliseconds. */
function speeds({ at0, slope }: Line): (readonly [number, number])[] {
  return Array.from({ length: 12 }, (_, i) => {
    const requests = 2 ** i;
    return [requests, (1000 * requests) / (at0 + slope * requests)] as const;
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

function median(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
