/** What a run does at one moment, as data: its processes, its sources and its stages. Pure. */

import type { TopicStat } from '../streams/index.ts';
import type { SourceStats, StageStats } from '../streams/run/index.ts';
import { topics as topicsOfRun } from '../topics/index.ts';
import type { RunFacts, RunStatus } from './facts/facts.ts';
import { metricNames } from './metricNames.ts';
import { type RunState, stateOf } from './state.ts';
import type { Worker } from './workers.ts';

/** The data read from a run. */
export interface Look {
  /** Paused: it begins nothing new. */
  readonly paused?: boolean;
  /** Some of its records cannot be read. */
  readonly damaged?: boolean;
  readonly run: string;
  readonly facts: RunFacts;
  readonly nowMs: number;
  readonly workers: readonly Worker[];
  readonly topics: readonly TopicStat[];
  /** Of the newest weights; null before the first. */
  readonly policy: { readonly version: number; readonly step: number } | null;
  /** Newest value by name of metric. */
  readonly metrics: ReadonlyMap<string, number>;
  /** Tokens per second over the last half minute; null if unknown. */
  readonly generating: number | null;
}

export interface StageRow {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly in: number;
  readonly out: number;
  readonly inPerSecond: number;
  readonly outPerSecond: number;
  readonly inflight: number;
  readonly inflightMax: number;
  /** Of those in flight, in open groups. */
  readonly waiting: number;
  /**
   * How long the oldest record has been in progress, not counting open groups; over several processes, the
   * maximum.
   */
  readonly oldestMs: number;
  /** How long a record usually takes in that process; null while it has settled none. */
  readonly usualMs: number | null;
  /** Records that it has not settled. */
  readonly lag: number;
  /** Shares of the time: nothing in flight; all places taken, so its input waits; a commit under way. */
  readonly waits: number;
  readonly full: number;
  readonly commits: number;
  /**
   * Shares of the time: everything in flight is finished and waits for the log; everything unfinished waits
   * for its policy version.
   */
  readonly blocked: number;
  readonly paced: number;
  /** How many processes run it. */
  readonly processes: number;
}

export interface SourceRow {
  readonly name: string;
  readonly to: string;
  readonly items: number;
  /** Items of an Observable for which there was no room, of all processes since their starts. */
  readonly dropped: number;
  readonly perSecond: number;
  readonly done: boolean;
  /** Share of the time that it was held back by the readers of its topic. */
  readonly held: number;
}

export interface WorkerRow {
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
  readonly memoryBytes: number;
  /** Since its last report. */
  readonly silentMs: number;
  readonly ended: boolean;
}

/** The output of `top --json`. */
export interface Live {
  readonly run: string;
  readonly job: string;
  readonly status: RunStatus;
  /** The same word as on the page. */
  readonly state: RunState;
  readonly paused: boolean;
  readonly atMs: number;
  /** Since its last start; up to its end when it has ended. */
  readonly upMs: number;
  readonly version: number | null;
  readonly step: number | null;
  readonly tokensPerSecond: {
    /** Generated, over the last half minute. */
    readonly generated: number | null;
    /** Trained, in the last step. */
    readonly trained: number | null;
  };
  readonly reward: number | null;
  readonly policyLag: number | null;
  readonly deadLetters: number;
  readonly workers: readonly WorkerRow[];
  readonly sources: readonly SourceRow[];
  readonly stages: readonly StageRow[];
}

/** A process that has reported nothing for this long counts as stopped. */
export const SILENT_MS = 5_000;

export function isLive({ silentMs, ended }: WorkerRow): boolean {
  return !ended && silentMs < SILENT_MS;
}

/** A record is old once it has been in progress for this long, and for this many times as long as usual. */
const OLD_MS = 10_000;
const OLD_TIMES = 10;
/** The same, while the usual time is unknown. */
const OLD_UNKNOWN_MS = 60_000;

/**
 * Whether the oldest record of a stage has been in progress for unusually long: its function or operator may
 * never end.
 */
export function isOld({ oldestMs, usualMs }: StageRow): boolean {
  if (usualMs === null) return oldestMs >= OLD_UNKNOWN_MS;
  return oldestMs >= Math.max(OLD_MS, OLD_TIMES * usualMs);
}

export function liveOf(look: Look): Live {
  const { run, facts, nowMs, policy, metrics, topics } = look;
  const last = facts.starts.at(-1) ?? { startedMs: nowMs, endedMs: nowMs };
  const metric = (name: string): number | null => metrics.get(name) ?? null;
  const workers = look.workers.map((worker) => workerRow(worker, nowMs));
  const { paused = false, damaged = false } = look;
  return {
    run,
    job: facts.job.name,
    status: facts.status,
    state: stateOf(facts, { workers, atMs: nowMs, paused, damaged }),
    paused,
    atMs: nowMs,
    upMs: (last.endedMs ?? nowMs) - last.startedMs,
    version: policy?.version ?? null,
    step: policy?.step ?? null,
    tokensPerSecond: {
      generated: over(look) ? null : look.generating,
      trained: metric(metricNames.trained),
    },
    reward: metric(metricNames.reward),
    policyLag: metric(metricNames.policyLag),
    deadLetters: topics.find(({ topic }) => topic === topicsOfRun.deadLetters.name)?.records ?? 0,
    workers,
    sources: sourceRows(look),
    stages: stageRows(look),
  };
}

/** No process works on it any more. */
function over({ facts, workers, nowMs }: Look): boolean {
  return facts.status !== 'running' && !workers.some((worker) => isLive(workerRow(worker, nowMs)));
}

function workerRow({ now }: Worker, nowMs: number): WorkerRow {
  const { worker, host, pid, memoryBytes, atMs, ended } = now;
  return { worker, host, pid, memoryBytes, ended, silentMs: Math.max(0, nowMs - atMs) };
}

/** A part of one process now, and at the previous report. */
interface Span<T> {
  readonly now: T;
  readonly before: T | null;
  readonly ms: number;
  /** Since its process started. */
  readonly lifeMs: number;
}

/**
 * The parts of the live processes by name, in order of first appearance, over the time between the last two
 * reports. If none is live, those of all processes, over their whole lives.
 */
function spans<T extends { readonly name: string }>(
  { workers, nowMs }: Look,
  partsOf: (report: Worker['now']) => readonly T[],
): ReadonlyMap<string, readonly Span<T>[]> {
  const live = workers.filter((worker) => isLive(workerRow(worker, nowMs)));
  const counted = live.length > 0 ? live : workers.map(({ now }) => ({ now, before: null }));
  const byName = new Map<string, Span<T>[]>();
  for (const { now, before } of counted) {
    const olds = new Map((before === null ? [] : partsOf(before)).map((part) => [part.name, part]));
    const lifeMs = now.atMs - now.startedMs;
    const ms = before === null ? lifeMs : now.atMs - before.atMs;
    for (const part of partsOf(now)) {
      const span = { now: part, before: olds.get(part.name) ?? null, ms, lifeMs };
      byName.set(part.name, [...(byName.get(part.name) ?? []), span]);
    }
  }
  return byName;
}

/** A second, all processes together. */
function perSecond<T>(parts: readonly Span<T>[], of: (part: T) => number): number {
  return parts.reduce((sum, part) => sum + 1000 * change(part, of), 0);
}

/** Share of the time, the mean of the processes; 0..1. */
function share<T>(parts: readonly Span<T>[], of: (part: T) => number): number {
  const sum = parts.reduce((all, part) => all + Math.min(1, change(part, of)), 0);
  return parts.length === 0 ? 0 : sum / parts.length;
}

/** By millisecond. */
function change<T>({ now, before, ms }: Span<T>, of: (part: T) => number): number {
  if (ms <= 0) return 0;
  return Math.max(0, of(now) - (before === null ? 0 : of(before))) / ms;
}

function total<T>(parts: readonly Span<T>[], of: (part: T) => number): number {
  return parts.reduce((sum, { now }) => sum + of(now), 0);
}

function sourceRows(look: Look): SourceRow[] {
  const parts = spans<SourceStats>(look, ({ sources }) => sources);
  return [...parts].map(([name, of]) => ({
    name,
    to: of[0]!.now.to,
    items: Math.max(...of.map(({ now }) => now.items)),
    dropped: total(of, ({ dropped }) => dropped),
    perSecond: perSecond(of, ({ items }) => items),
    done: of.every(({ now }) => now.done),
    held: share(of, ({ waitMs }) => waitMs),
  }));
}

function stageRows(look: Look): StageRow[] {
  const parts = spans<StageStats>(look, ({ stages }) => stages);
  return [...parts].map(([name, of]) => {
    const { from, to } = of[0]!.now;
    return {
      name,
      from,
      to,
      in: total(of, (stage) => stage.in),
      out: total(of, (stage) => stage.out),
      inPerSecond: perSecond(of, (stage) => stage.in),
      outPerSecond: perSecond(of, (stage) => stage.out),
      inflight: total(of, (stage) => stage.inflight),
      inflightMax: total(of, (stage) => stage.inflightMax),
      waiting: total(of, (stage) => stage.waiting),
      ...oldest(of),
      lag: lagOf(look.topics, from, name),
      waits: share(of, (stage) => stage.idleMs),
      full: share(of, (stage) => stage.fullMs),
      commits: share(of, (stage) => stage.commitMs),
      blocked: share(of, (stage) => stage.blockedMs),
      paced: share(of, (stage) => stage.pacedMs),
      processes: of.length,
    };
  });
}

/**
 * The oldest record of all processes, and what is usual where it is: by Little's law, records in progress
 * over records per unit of time.
 */
function oldest(parts: readonly Span<StageStats>[]): Pick<StageRow, 'oldestMs' | 'usualMs'> {
  const [{ now, lifeMs }] = [...parts].sort((a, b) => b.now.oldestMs - a.now.oldestMs) as [
    Span<StageStats>,
  ];
  const { oldestMs, inflight, waiting, settled, idleMs } = now;
  const workedMs = Math.max(0, lifeMs - idleMs);
  const usualMs = settled === 0 ? null : ((inflight - waiting) * workedMs) / settled;
  return { oldestMs, usualMs };
}

/** A group that the log has no record of has settled nothing. */
function lagOf(topics: readonly TopicStat[], from: string, stage: string): number {
  const topic = topics.find((known) => known.topic === from);
  return topic === undefined ? 0 : (topic.lag[stage] ?? topic.records);
}
