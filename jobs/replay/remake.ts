/**
 * `remake`: a run repeated from one of its topics on, with other settings: another reward, another selection,
 * another loss, down to new weights. Everything upstream of that topic is as recorded.
 *
 * The rollouts are those of the other run's policies, so what is trained is off-policy from the step on at
 * which the two runs differ; the end of the run reports how far (`Lag`).
 */

import { type Clock, MillraceError, type Report } from '../../base/index.ts';
import {
  type Flow,
  followControl,
  isResumable,
  type Log,
  mapEach,
  type Source,
  type Stage,
  type Standing,
  source,
  type Topic,
} from '../../streams/index.ts';
import { upTo } from '../../streams/replay/index.ts';
import { type FlowEnd, itemsOf, runFlow } from '../../streams/run/index.ts';
import {
  asked,
  type Question,
  type Scored,
  type Selected,
  type ToolCall,
  topics,
  type Weights,
} from '../../topics/index.ts';
import type { Job } from '../defineJob.ts';
import { RecordedGroups } from './recordedGroups.ts';
import { recordedItems } from './recordedItems.ts';
import { recordedRollouts } from './recordedRollouts.ts';
import { RecordedCalls, recordedTools, type ToolMode } from './recordedTools.ts';

/** The first topic to remake. */
export const beginnings = ['rollouts', 'scored', 'selected', 'batches', 'weights'] as const;
export type Beginning = (typeof beginnings)[number];

export interface RemakeOptions {
  readonly job: Job;
  readonly from: Beginning;
  readonly tools: ToolMode;
  /** Name, folder, seed and settings of the new run, and its log, open to write. */
  readonly run: string;
  readonly folder: string;
  readonly seed: number;
  readonly settings: unknown;
  readonly log: Log;
  /** The log of the original run, open to read. */
  readonly recorded: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly print: Report;
  readonly graceMs: number;
}

/**
 * How far the trained policy is from the sampling one, in optimiser steps since the last weights that both
 * runs share.
 */
export interface Lag {
  /** Steps whose weights are those of the original run. */
  readonly sameSteps: number;
  readonly steps: number;
  /** Over the groups that were trained on. */
  readonly mean: number;
  readonly max: number;
}

export interface Remade {
  readonly end: FlowEnd;
  readonly lag: Lag;
}

export async function remake(options: RemakeOptions): Promise<Remade> {
  const { recorded, job, log, clock, signal, graceMs } = options;
  const standing = await recorded.standing?.();
  if (standing === undefined) {
    throw new MillraceError('NO_HISTORY', 'cannot replay this log; use one in a run folder');
  }
  const calls = new RecordedCalls();
  const groups = await RecordedGroups.of(recorded, standing);
  const end = standing.ends[topics.toolCalls.name] ?? 0;
  for await (const { value, position } of upTo(recorded, topics.toolCalls, end)) {
    calls.add(value as ToolCall, position.offset);
  }
  const owned: { close(): Promise<void> }[] = [];
  const { run, folder, seed, settings, print, tools: mode } = options;
  try {
    const control = await followControl(log);
    owned.push(control);
    const built = await job.build({
      run,
      folder,
      seed,
      settings,
      log,
      clock,
      print,
      own: (resource) => {
        owned.push(resource);
        return resource;
      },
      control,
      replay: {
        keepAll: false,
        controls: (version) => (groups.weights[version] ?? groups.weights.at(-1))?.controls ?? 0,
        // Recorded rollouts were made by the policies of the original run.
        ...(options.from === 'rollouts' ? {} : { refused: () => false }),
        engine: (live) => live,
        tools: (live) => recordedTools(live, { log: recorded, calls, mode }),
      },
    });
    const flow = await rewired(built, options, { standing, groups });
    const ended = await runFlow(flow, { log, signal, clock, graceMs });
    return { end: ended, lag: await lagOf(log, groups.weights) };
  } finally {
    for (const resource of owned.reverse()) await resource.close();
  }
}

interface Past {
  readonly standing: Standing;
  readonly groups: RecordedGroups;
}

async function rewired(built: Flow, options: RemakeOptions, past: Past): Promise<Flow> {
  const { recorded, from } = options;
  const { standing } = past;
  const questions = built.sources.filter(({ to }) => to.name === topics.questions.name);
  const planned = await schedules(questions, standing.ends[topics.questions.name] ?? 0);
  const given = source('recorded/questions', topics.questions, {
    async *[Symbol.asyncIterator]() {
      for await (const item of recordedItems(recorded, topics.questions, standing)) {
        const question = scheduled(item.value, planned);
        const wanted = options.tools !== 'recorded' || from === 'rollouts';
        if (wanted || past.groups.knows(question)) yield { value: question };
      }
    },
  });
  const asRecorded = ([topics.control, topics.windows] as readonly Topic<unknown>[]).map((topic) =>
    source(`recorded/${topic.name}`, topic, recordedItems(recorded, topic, standing)),
  );
  const verdicts = await decided(recorded, standing, from);
  return {
    ...built,
    sources: [
      ...built.sources.filter((part) => !questions.includes(part)),
      ...(questions.length === 0 ? [] : [given]),
      ...asRecorded,
    ],
    stages: built.stages.map((stage) => above(stage, options, past, verdicts)),
  };
}

type Schedules = ReadonlyMap<string, Question['schedule']>;

/** Where the settings of the new run place each question. Reads no more items than could be needed. */
async function schedules(sources: readonly Source[], recorded: number): Promise<Schedules> {
  const planned = new Map<string, Question['schedule']>();
  for (const source of sources) {
    if (isResumable(source.items)) continue;
    let left = 2 * recorded;
    for await (const item of itemsOf({ ...source, items: source.items })) {
      if ('value' in item) {
        const question = item.value as Question;
        planned.set(asked(question), question.schedule);
      }
      if (--left < 0) break;
    }
  }
  return planned;
}

/** The recorded question at its new place. */
function scheduled(question: Question, planned: Schedules): Question {
  const schedule = planned.get(asked(question));
  if (schedule !== undefined) return { ...question, schedule };
  throw new MillraceError(
    'REPLAY_PLAN',
    `with these settings the job would not ask ${asked(question)}, which is recorded, but a replay keeps the questions: do not change the settings that choose them (rounds, explore, heldOut, questions, …)`,
  );
}

/** A stage whose output comes before `from`, held to the record. */
function above(stage: Stage, options: RemakeOptions, past: Past, verdicts: Verdicts): Stage {
  const { from, tools, log } = options;
  if (from === 'rollouts') return stage;
  const weights$ = log.tap(topics.weights, { from: { kind: 'earliest' }, follow: true });
  const rolled = recordedRollouts(stage, {
    groups: past.groups,
    weights$,
    live: tools !== 'recorded',
  });
  if (rolled !== null) return rolled;
  const held = verdicts.get(stage.to?.name ?? '');
  if (held === undefined) return stage;
  return {
    ...stage,
    run: (deliveries$) => deliveries$.pipe(stage.run, mapEach(held, { concurrency: 1 })),
  };
}

/** By topic: the recorded decisions, instead of new ones. */
type Verdicts = ReadonlyMap<string, (value: unknown) => unknown>;

async function decided(log: Log, { ends }: Standing, from: Beginning): Promise<Verdicts> {
  const place = beginnings.indexOf(from);
  const verdicts = new Map<string, (value: unknown) => unknown>();
  const hold = async <T extends Scored | Selected>(
    topic: Topic<T>,
    keep: (then: T, now: T) => T,
  ): Promise<void> => {
    const then = new Map<string, T>();
    for await (const { value } of upTo(log, topic, ends[topic.name] ?? 0)) {
      then.set(asked(value.question), value);
    }
    verdicts.set(topic.name, (value) => {
      const now = value as T;
      const known = then.get(asked(now.question));
      return known === undefined ? now : keep(known, now);
    });
  };
  if (place > beginnings.indexOf('scored')) {
    await hold(topics.scored, ({ rewards, advantages }, now) =>
      rewards.length === now.rollouts.length ? { ...now, rewards, advantages } : now,
    );
  }
  if (place > beginnings.indexOf('selected')) {
    await hold(topics.selected, (then, { question, scored, version }) => {
      return { ...then, question, scored, version };
    });
  }
  return verdicts;
}

async function lagOf(log: Log, then: readonly Weights[]): Promise<Lag> {
  const digests = new Map(then.map(({ version, digest }) => [version, digest]));
  const now: Weights[] = [];
  const stats = await log.stats();
  const records = (name: string): number => stats.find(({ topic }) => topic === name)?.records ?? 0;
  for await (const { value } of upTo(log, topics.weights, records('weights'))) now.push(value);
  const parted = now.findIndex(({ version, digest }) => digests.get(version) !== digest);
  const shared = parted < 0 ? now.length - 1 : parted - 1;
  const lags: number[] = [];
  for await (const { value } of upTo(log, topics.batches, records('batches'))) {
    for (const _ of value.groups) lags.push(Math.max(0, value.version - shared));
  }
  const sum = lags.reduce((total, lag) => total + lag, 0);
  return {
    sameSteps: Math.max(0, shared),
    steps: now.length - 1,
    mean: lags.length === 0 ? 0 : sum / lags.length,
    max: Math.max(0, ...lags),
  };
}
