/** The twin of the Pareto scatter: the groups that were judged in a round, over two axes, with fronts and verdicts. */
import type { Log, Stored } from '../../../streams/log.ts';
import { type Scored, type Selected, topics } from '../../../topics/index.ts';
import {
  limits,
  type ParetoAxis,
  type ParetoPoint,
  type ParetoTwin,
  WIRE,
} from '../../wire/wire.ts';
import type { Moment } from '../run/moment.ts';
import { recordsAt } from '../run/records.ts';
import { refOf } from '../run/refs.ts';
import { distanceOf } from '../run/rollouts.ts';
import type { RunView } from '../run/runView.ts';
import { finite } from '../run/shown.ts';

/** Verdicts that are looked through, the newest. */
const SEARCH_MAX = 200_000;
/** Groups that are fetched at once; between them the event loop gets its turn. */
const FETCH = 256;

export const axes: ParetoTwin['axes'] = [
  { name: 'calls', about: 'tool calls a rollout' },
  { name: 'correct', about: 'share of right rollouts' },
  { name: 'reward', about: 'mean reward' },
  { name: 'length', about: 'tokens a response' },
  { name: 'spreadCalls', about: 'spread of calls (objective 1)' },
  { name: 'spreadCorrect', about: 'spread of right (objective 2)' },
];

export interface ParetoAsked {
  /** Undefined = the newest. */
  readonly stage: number | undefined;
  readonly x: ParetoAxis;
  readonly y: ParetoAxis;
}

export function isAxis(name: string): name is ParetoAxis {
  return axes.some((axis) => axis.name === name);
}

/** The round of a step; undefined where no batch says so. */
export async function stageOf(log: Log, moment: Moment, step: number): Promise<number | undefined> {
  let stage: number | undefined;
  const to = moment.endOf(topics.batches.name);
  await log
    .tap(topics.batches, {
      from: { kind: 'earliest' },
      only: { keys: [String(step)] },
      follow: false,
      ...(to === undefined ? {} : { to }),
      unreadable: () => undefined,
    })
    .forEach(({ value }) => {
      stage = value.stage;
    });
  return stage;
}

export async function paretoTwin(
  view: RunView,
  moment: Moment,
  { stage, x, y }: ParetoAsked,
): Promise<ParetoTwin> {
  const { log, clock } = view.viewed;
  const { judged, stages, total, shownStage } = await verdictsOf(log, moment, stage);
  const points: ParetoPoint[] = [];
  for (let i = 0; i < judged.length; i += FETCH) {
    const some = judged.slice(i, i + FETCH);
    const groups = await recordsAt(
      log,
      topics.scored,
      some.map(({ value }) => value.scored),
    );
    points.push(...some.map((one) => pointOf(one, groups.get(refOf(one.value.scored)), { x, y })));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const verdicts: Record<string, number> = {};
  for (const { verdict } of points) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  return {
    wire: WIRE,
    nowMs: clock.now(),
    run: await view.head(moment),
    at: moment.at,
    stage: shownStage,
    stages,
    x,
    y,
    axes,
    points,
    shown: points.length,
    total,
    verdicts,
    why:
      total > 0
        ? ''
        : 'no group has been judged: this job does no Pareto sampling, or its first window is not full yet',
  };
}

interface Verdicts {
  readonly judged: readonly Stored<Selected>[];
  readonly stages: readonly number[];
  /** Of the stage that is shown. */
  readonly total: number;
  readonly shownStage: number | null;
}

/** Of one stage: the newest so many. */
async function verdictsOf(log: Log, moment: Moment, stage: number | undefined): Promise<Verdicts> {
  const stats = await log.stats();
  const all = stats.find(({ topic }) => topic === topics.selected.name)?.records ?? 0;
  const end = moment.recordsOf(topics.selected.name) ?? all;
  const to = moment.endOf(topics.selected.name);
  const stages = new Set<number>();
  let judged: Stored<Selected>[] = [];
  let total = 0;
  let shownStage = stage ?? null;
  await log
    .tap(topics.selected, {
      from: { kind: 'offset', offset: Math.max(0, end - SEARCH_MAX) },
      follow: false,
      ...(to === undefined ? {} : { to }),
      unreadable: () => undefined,
    })
    .forEach((stored) => {
      const own = stored.value.question.stage;
      stages.add(own);
      if (stage === undefined && own > (shownStage ?? Number.NEGATIVE_INFINITY)) {
        shownStage = own;
        judged = [];
        total = 0;
      }
      if (own !== shownStage) return;
      total += 1;
      judged.push(stored);
      if (judged.length > 2 * limits.paretoMax) judged = judged.slice(-limits.paretoMax);
    });
  return {
    judged: judged.slice(-limits.paretoMax),
    stages: [...stages].sort((a, b) => a - b),
    total,
    shownStage,
  };
}

function pointOf(
  { value, position }: Stored<Selected>,
  scored: Stored<Scored> | undefined,
  { x, y }: Pick<ParetoAsked, 'x' | 'y'>,
): ParetoPoint {
  const { question, objectives, front, kept, why, distance } = value;
  const group = scored?.value;
  const numbers: Readonly<Record<ParetoAxis, number | null>> = {
    calls: meanOf(group?.toolCalls),
    correct: meanOf(group?.rewards.map(({ parts }) => ((parts.raw ?? 0) > 0 ? 1 : 0))),
    reward: meanOf(group?.rewards.map(({ score }) => score)),
    length: meanOf(group?.lengths),
    spreadCalls: finite(objectives[0]),
    spreadCorrect: finite(objectives[1]),
  };
  return {
    question: question.id,
    ref: refOf(position),
    scored: refOf(value.scored),
    x: numbers[x] ?? 0,
    y: numbers[y] ?? 0,
    front,
    kept,
    verdict: why,
    distance: distanceOf(distance),
    correct: numbers.correct,
    calls: numbers.calls,
    reward: numbers.reward,
  };
}

function meanOf(values: readonly number[] | undefined): number | null {
  if (values === undefined || values.length === 0) return null;
  return finite(values.reduce((sum, value) => sum + value, 0) / values.length);
}
