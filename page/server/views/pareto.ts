/**
 * The data of the Pareto scatter: the groups that a round judged, over two axes, with fronts and verdicts.
 */
import { MillraceError } from '../../../base/index.ts';
import type { Log, Stored } from '../../../streams/index.ts';
import { type Scored, type Selected, topics } from '../../../topics/index.ts';
import type { ParetoAxis, ParetoData, ParetoPoint } from '../../wire/index.ts';
import { limits } from '../run/limits.ts';
import type { Moment } from '../run/moment.ts';
import { recordsAt } from '../run/records.ts';
import { refOf } from '../run/refs.ts';
import { distanceOf } from '../run/rollouts.ts';
import type { RunView } from '../run/runView.ts';
import { finite } from '../run/shown.ts';
import { type Asked, numberIn } from './asked.ts';

/** The newest verdicts, among which a round is looked for. */
const SEARCH_MAX = 200_000;
/** Groups fetched at once; in between, the event loop gets its turn. */
const FETCH = 256;

const axes: ParetoData['axes'] = [
  { name: 'calls', about: 'tool calls per rollout' },
  { name: 'correct', about: 'share of correct rollouts' },
  { name: 'reward', about: 'mean reward' },
  { name: 'length', about: 'tokens per response' },
  { name: 'spreadCalls', about: 'spread of calls (objective 1)' },
  { name: 'spreadCorrect', about: 'spread of correctness (objective 2)' },
];

interface ParetoAsked {
  /** Undefined = the newest. */
  readonly round: number | undefined;
  readonly x: ParetoAxis;
  readonly y: ParetoAxis;
}

function isAxis(name: string): name is ParetoAxis {
  return axes.some((axis) => axis.name === name);
}

export async function data({ view, moment, query }: Asked): Promise<ParetoData> {
  const [x, y] = [query.get('x') ?? 'spreadCalls', query.get('y') ?? 'spreadCorrect'];
  if (!isAxis(x) || !isAxis(y)) {
    throw new MillraceError(
      'USAGE',
      `x= and y= take one of ${axes.map(({ name }) => name).join(', ')}`,
    );
  }
  const step = numberIn(query, 'step');
  const round =
    numberIn(query, 'round') ??
    (step === undefined ? undefined : await roundOf(view.viewed.log, moment, step));
  return paretoData(view, moment, { round, x, y });
}

/** The round of a step; undefined if no batch names it. */
async function roundOf(log: Log, moment: Moment, step: number): Promise<number | undefined> {
  let round: number | undefined;
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
      round = value.round;
    });
  return round;
}

async function paretoData(
  view: RunView,
  moment: Moment,
  { round, x, y }: ParetoAsked,
): Promise<ParetoData> {
  const { log } = view.viewed;
  const { judged, rounds, total, shownRound } = await verdictsOf(log, moment, round);
  const { nameOf } = await view.rounds();
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
    ...(await view.frame(moment, `millrace tap ${view.viewed.name}.selected`)),
    round: shownRound,
    rounds: rounds.map((one) => ({ round: one, name: nameOf(one) })),
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
  readonly rounds: readonly number[];
  /** For the round that is shown. */
  readonly total: number;
  readonly shownRound: number | null;
}

/** The newest of one round. */
async function verdictsOf(log: Log, moment: Moment, round: number | undefined): Promise<Verdicts> {
  const stats = await log.stats();
  const all = stats.find(({ topic }) => topic === topics.selected.name)?.records ?? 0;
  const end = moment.recordsOf(topics.selected.name) ?? all;
  const to = moment.endOf(topics.selected.name);
  const rounds = new Set<number>();
  let judged: Stored<Selected>[] = [];
  let total = 0;
  let shownRound = round ?? null;
  await log
    .tap(topics.selected, {
      from: { kind: 'offset', offset: Math.max(0, end - SEARCH_MAX) },
      follow: false,
      ...(to === undefined ? {} : { to }),
      unreadable: () => undefined,
    })
    .forEach((stored) => {
      const own = stored.value.question.round;
      rounds.add(own);
      if (round === undefined && own > (shownRound ?? Number.NEGATIVE_INFINITY)) {
        shownRound = own;
        judged = [];
        total = 0;
      }
      if (own !== shownRound) return;
      total += 1;
      judged.push(stored);
      if (judged.length > 2 * limits.paretoMax) judged = judged.slice(-limits.paretoMax);
    });
  return {
    judged: judged.slice(-limits.paretoMax),
    rounds: [...rounds].sort((a, b) => a - b),
    total,
    shownRound,
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
