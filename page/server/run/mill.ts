/**
 * The mill as the page draws it, from what `top` reads: stages with the shares of their time, topics, and one
 * sentence. Pure.
 */
import type { TopicStat } from '../../../streams/index.ts';
import type { RunFacts } from '../../../summary/facts/index.ts';
import { isLive, isOld, type Live, type StageRow } from '../../../summary/index.ts';
import { allTopics } from '../../../topics/index.ts';
import type { Mill, MillStage, MillTopic, RunHead, Shares } from '../../wire/index.ts';
import { healthOf, PACED } from './health.ts';
import type { Moment } from './moment.ts';
import { phasesOf, type Trained } from './phases.ts';
import type { RateHistory } from './rateHistory.ts';
import type { Recent } from './recent.ts';
import { finite } from './shown.ts';

export interface MillParts {
  readonly live: Live;
  readonly facts: RunFacts;
  readonly stats: readonly TopicStat[];
  readonly head: RunHead;
  /** Which records cannot be read; empty for none. */
  readonly damage: string;
  /** Steps that taught the policy nothing, one sentence each. */
  readonly idle: readonly string[];
  readonly newest: {
    readonly version: number;
    readonly step: number;
    readonly atMs: number;
  } | null;
  readonly history: RateHistory;
  readonly recent: Recent;
  readonly trained: Trained;
}

const about = new Map(allTopics.map((topic) => [topic.name, topic.about]));
const order = new Map([...about.keys()].map((name, i) => [name, i]));

export function millOf(parts: MillParts): Mill {
  const { live, facts, stats, head, damage, idle, newest, history, recent } = parts;
  const phases = phasesOf(live.stages);
  const records = (name: string) => stats.find(({ topic }) => topic === name)?.records ?? 0;
  // In a run that has ended, everything is finished.
  const finished =
    facts.status === 'running' ? parts.trained.finished(live.stages, records) : new Set<string>();
  const stages = live.stages.map((row, i) => {
    const phase = phases[i]!;
    return { ...stageOf(row), phase, finished: finished.has(phase) };
  });
  const { lagMax } = facts.settings;
  return {
    run: head.name,
    atMs: live.atMs,
    rates: live.workers.some(isLive) ? 'now' : live.stages.length > 0 ? 'life' : 'none',
    health: healthOf({ head, stages, damage, idle, deadLetters: live.deadLetters }),
    step: head.step,
    version: head.version,
    policyLag: finite(live.policyLag),
    policyLagMax: typeof lagMax === 'number' ? lagMax : null,
    reward: finite(live.reward),
    tokensPerSecond: {
      generated: finite(live.tokensPerSecond.generated),
      trained: finite(live.tokensPerSecond.trained),
    },
    sources: live.sources.map(({ name, to, items, perSecond, done, held }) => {
      return { name, to, items, perSecond, done, held };
    }),
    stages,
    topics: topicsOf(stats, history),
    workers: live.workers.map(({ worker, host, pid, memoryBytes, silentMs, ended }) => {
      return { worker, host, pid, memoryBytes, silentMs, ended };
    }),
    weights:
      newest === null ? null : { version: newest.version, step: newest.step, atMs: newest.atMs },
    tools: recent.tools,
    selection: recent.selection,
  };
}

/** In the order in which a run works; a job's own stages come last. */
export function topicsOf(stats: readonly TopicStat[], history: RateHistory): MillTopic[] {
  const place = (name: string): number => order.get(name) ?? order.size;
  return stats
    .map(({ topic, records, bytes, lag }) => {
      const { perSecond, spark, grewMs } = history.of(topic);
      const known = about.get(topic) ?? 'Defined by the job.';
      return { name: topic, about: known, records, bytes, perSecond, lastMs: grewMs, lag, spark };
    })
    .sort((a, b) => place(a.name) - place(b.name) || (a.name < b.name ? -1 : 1));
}

/** At a past moment; the present is left as it is. */
export function topicAt(topic: MillTopic, { at, recordsOf }: Moment): MillTopic {
  if (at === null) return topic;
  const records = recordsOf(topic.name) ?? topic.records;
  return { ...topic, records, bytes: null, perSecond: null, lastMs: null, lag: {}, spark: [] };
}

function stageOf(row: StageRow): Omit<MillStage, 'phase' | 'finished'> {
  const { name, from, to, lag, inPerSecond } = row;
  return {
    name,
    from,
    to,
    shares: sharesOf(row),
    full: row.full,
    in: row.in,
    out: row.out,
    inPerSecond,
    outPerSecond: row.outPerSecond,
    inflight: row.inflight,
    inflightMax: row.inflightMax,
    waiting: row.waiting,
    lag,
    lagMs: lag === 0 ? 0 : inPerSecond > 0 ? (1000 * lag) / inPerSecond : null,
    oldestMs: row.oldestMs,
    // Where records wait for a policy version, their age is no problem.
    isOld: isOld(row) && row.paced < PACED,
    processes: row.processes,
  };
}

/** They add to one, despite rounding and reports from different moments. */
function sharesOf({ waits, blocked, paced }: StageRow): Shares {
  const starved = Math.min(1, waits);
  const rest = 1 - starved;
  const isBlocked = Math.min(rest, blocked);
  const isPaced = Math.min(rest - isBlocked, paced);
  return { starved, blocked: isBlocked, paced: isPaced, busy: rest - isBlocked - isPaced };
}
