/** A run's numbers for Prometheus at one moment, as a page. Pure. */
import type { TopicStat } from '../../streams/index.ts';
import type { SourceStats, StageStats, WorkerStatus } from '../../streams/run/index.ts';
import { topics as topicsOfRun } from '../../topics/index.ts';
import { type RunFacts, runStatuses } from '../facts/facts.ts';
import type { Page } from './exposition.ts';
import { ownFamilies, processFamilies as p, runFamilies as r } from './families.ts';
import type { Tallies } from './tallies.ts';

/** The package that answers, and how often it has. */
export interface Answerer {
  readonly version: string;
  readonly node: string;
  readonly scrapes: number;
}

export function addOwn(page: Page, { version, node, scrapes }: Answerer): void {
  page.add(ownFamilies.build, [version, node], 1);
  page.add(ownFamilies.scrapes, [], scrapes);
}

/** The processes that have not ended. */
export function addWorkers(page: Page, workers: readonly WorkerStatus[]): void {
  for (const status of workers) {
    const { worker, host, ended, atMs, memoryBytes, stages, sources } = status;
    if (ended) continue;
    page.add(p.up, [worker, host], 1);
    page.add(p.heartbeat, [worker], atMs / 1000);
    page.add(p.memory, [worker], memoryBytes);
    for (const stage of stages) addStage(page, worker, stage);
    for (const source of sources) addSource(page, worker, source);
  }
}

function addStage(page: Page, worker: string, stage: StageStats): void {
  const at = [worker, stage.name];
  page.add(p.stageRead, at, stage.in);
  page.add(p.stageOut, at, stage.out);
  page.add(p.stageSettled, at, stage.settled);
  page.add(p.stageTime, [...at, 'starved'], stage.idleMs / 1000);
  page.add(p.stageTime, [...at, 'full'], stage.fullMs / 1000);
  page.add(p.stageTime, [...at, 'busy'], stage.busyMs / 1000);
  page.add(p.stageCommit, at, stage.commitMs / 1000);
  page.add(p.stageInflight, at, stage.inflight);
  page.add(p.stageInflightLimit, at, stage.inflightMax);
  page.add(p.stageWaiting, at, stage.waiting);
  page.add(p.stageOldest, at, stage.oldestMs / 1000);
}

function addSource(page: Page, worker: string, source: SourceStats): void {
  const at = [worker, source.name];
  page.add(p.sourceItems, at, source.items);
  page.add(p.sourceDropped, at, source.dropped);
  page.add(p.sourceHeld, at, source.waitMs / 1000);
  page.add(p.sourceDone, at, source.done ? 1 : 0);
}

/** What is known about the whole run. */
export interface Whole {
  readonly facts: RunFacts;
  /** The log's last answer; null before it has one. */
  readonly topics: readonly TopicStat[] | null;
  /** Whether it answered for this scrape. */
  readonly fresh: boolean;
  /** By topic, whether it is still being followed. */
  readonly following: ReadonlyMap<string, boolean>;
  readonly tallies: Tallies;
}

export function addRun(page: Page, { facts, topics, fresh, following, tallies }: Whole): void {
  const { job, millrace, seed, status, starts } = facts;
  page.add(r.runInfo, [job.name, millrace, String(seed)], 1);
  for (const known of runStatuses) page.add(r.runStatus, [known], known === status ? 1 : 0);
  page.add(r.resumes, [], starts.length - 1);
  page.add(r.logAnswers, [], fresh ? 1 : 0);
  for (const [topic, follows] of following) page.add(r.reading, [topic], follows ? 1 : 0);
  if (topics !== null) addTopics(page, topics);
  tallies.writeTo(page);
}

function addTopics(page: Page, topics: readonly TopicStat[]): void {
  for (const { topic, records, bytes, lag } of topics) {
    page.add(r.topicRecords, [topic], records);
    page.add(r.topicBytes, [topic], bytes);
    for (const [stage, behind] of Object.entries(lag)) page.add(r.lag, [stage, topic], behind);
  }
  const dead = topics.find(({ topic }) => topic === topicsOfRun.deadLetters.name);
  page.add(r.deadLetters, [], dead?.records ?? 0);
}
