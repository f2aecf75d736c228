/**
 * One reading of a run: one pass over each of four topics of its log, kept in bounded memory except for the
 * groups of its evaluations (held-out questions times rounds).
 */
import type { Log, Topic } from '../streams/index.ts';
import { type BatchKind, Learning, type Metric, type Scored, topics } from '../topics/index.ts';
import { type RunFacts, RunningTime } from './facts/facts.ts';
import { MetricBook } from './metricBook.ts';
import { type Training, TrainingTally } from './training.ts';

/** A record with the time of its append. */
export interface Timed<T> {
  readonly value: T;
  readonly atMs: number;
}

/**
 * The evaluation of a round, as far as it is scored. Round 0 is before any training, round r after round r.
 */
export interface Measured {
  /** Scored groups, by the ids of their questions, so that nothing depends on which was finished first. */
  readonly groups: readonly Scored[];
  /** Number of questions that were asked. */
  readonly expected: number;
  /** When the last of the groups was scored. */
  readonly lastMs: number;
}

export interface Reading {
  readonly run: string;
  readonly facts: RunFacts;
  /** By round. */
  readonly evaluations: ReadonlyMap<number, Measured>;
  readonly metrics: MetricBook;
  /** Null before the first step. */
  readonly training: Training | null;
  /** What the steps of each round trained on. */
  readonly kinds: ReadonlyMap<number, BatchKind>;
  /** Sources of questions, in the order in which they were asked. */
  readonly sources: readonly string[];
  /** Time that the run was running, all starts together. */
  readonly seconds: number;
  readonly deadLetters: number;
  /** Steps that taught nothing, one sentence each (topics/learning.ts). */
  readonly idle: readonly string[];
}

export async function readRun(log: Log, run: string, facts: RunFacts): Promise<Reading> {
  const running = new RunningTime(facts);
  const expected = new Map<number, number>();
  const sources = new Set<string>();
  await each(log, topics.questions, ({ value: { phase, round, source } }) => {
    sources.add(source);
    if (phase === 'evaluate') expected.set(round, (expected.get(round) ?? 0) + 1);
  });
  const scored = new Map<number, Timed<Scored>[]>();
  await each(log, topics.scored, ({ value, atMs }) => {
    const { phase, round } = value.question;
    if (phase !== 'evaluate') return;
    running.seen(atMs);
    const members = scored.get(round) ?? [];
    members.push({ value, atMs });
    scored.set(round, members);
  });
  const kinds = new Map<number, BatchKind>();
  await each(log, topics.batches, ({ value: { round, kind } }) => void kinds.set(round, kind));
  const tally = new TrainingTally();
  const learning = new Learning();
  const metrics = await readMetrics(log, (metric) => {
    running.seen(metric.atMs);
    tally.add(metric);
    learning.add(metric);
  });
  const evaluations = new Map(
    [...scored].map(([round, groups]) => [round, measured(groups, expected.get(round) ?? 1)]),
  );
  const deadLetters = await countOf(log, topics.deadLetters);
  const { seconds } = running;
  return {
    run,
    facts,
    evaluations,
    metrics,
    training: tally.training,
    kinds,
    deadLetters,
    seconds,
    idle: learning.notes(run),
    sources: [...sources],
  };
}

/** `seen` is called with each record. */
export async function readMetrics(
  log: Log,
  seen: (metric: Metric) => void = () => undefined,
): Promise<MetricBook> {
  const metrics = new MetricBook();
  await each(log, topics.metrics, ({ value }) => {
    seen(value);
    metrics.add(value);
  });
  return metrics;
}

/** Records of a topic. */
export async function countOf(log: Log, { name }: Pick<Topic<unknown>, 'name'>): Promise<number> {
  return (await log.stats()).find(({ topic }) => topic === name)?.records ?? 0;
}

/** Every record that a topic has now. */
export function each<T>(
  log: Log,
  topic: Topic<T>,
  take: (stored: Timed<T>) => void,
): Promise<void> {
  return log.tap(topic, { from: { kind: 'earliest' }, follow: false }).forEach(take);
}

export function measured(scored: readonly Timed<Scored>[], expected: number): Measured {
  const groups = scored
    .map(({ value }) => value)
    .sort((a, b) => Number(a.question.id > b.question.id) - Number(a.question.id < b.question.id));
  return { groups, expected, lastMs: scored.reduce((last, { atMs }) => Math.max(last, atMs), 0) };
}

/** Rounds whose evaluation counts, ascending: during a run, those with every question scored. */
export function completeRounds({ facts, evaluations }: Reading): number[] {
  const over = facts.status !== 'running';
  return [...evaluations]
    .filter(([, { groups, expected }]) => over || groups.length >= expected)
    .map(([round]) => round)
    .sort((a, b) => a - b);
}
