/**
 * `paretoSample`: the scored candidates of a round in, a verdict on each out (ET-Agent §7).
 *
 * Group-wise Pareto sampling: a question is worth practising when its rollouts disagree, in tool calls and in
 * correctness. The sort runs over all candidates of a window, so nothing leaves before the last one is scored. A
 * window is a round, or, where the candidates have places in a schedule, so many places of it. The kept get their
 * own places by a keyed shuffle, and leave in that order: a practice stage with fewer places than a round has
 * questions would otherwise fill up with those that are not due yet.
 */
import { type OperatorFunction, pipe } from 'rxjs';
import { shuffled } from '../base/draws.ts';
import type { Delivery } from '../streams/deliveries/delivery.ts';
import { expandEach, gatherBy, gatherCount, keepIf } from '../streams/primitives.ts';
import type { Question, Scored, Selected } from '../streams/records.ts';
import { type ScheduleStep, stepAt, versionOf } from '../streams/schedule.ts';
import { isMixed } from './sampling/dispersion.ts';
import {
  correctnessDispersion,
  correctnessOf,
  type Objective,
  toolCallDispersion,
} from './sampling/objectives.ts';
import { paretoSelect } from './sampling/pareto.ts';
import { type WithPosition, withPosition } from './withPosition.ts';

/** The window that is sorted, what is kept of it, and by which objectives. */
export interface ParetoOptions {
  /** `random` keeps any: a control, to see what the fronts add. Left out = `pareto`. */
  readonly sampler?: 'pareto' | 'random';
  /** Most groups to keep of a window (N); as a function, by a question of it. */
  readonly keep: number | ((question: Question) => number);
  /** Awaited before a window is sorted: whether `keep` can tell of it. */
  readonly ready?: (question: Question, signal: AbortSignal) => Promise<void>;
  /**
   * Candidates of a window. `by: 'stage'` (default): those of a round, or with scheduled candidates of a part of one.
   * `by: 'count'`: so many as they arrive, whatever their round; the order of the topic decides. (Without any window:
   * `paretoFront`.)
   */
  readonly window: number;
  readonly by?: 'stage' | 'count';
  /** Two numbers of a group to maximise; by default how much its rollouts disagree in tool calls and in correctness. */
  readonly objectives?: readonly [Objective, Objective];
  /** `paper`: standard deviations instead of variances, and crowding without infinite ends. Default as released. */
  readonly mode?: 'reference' | 'paper';
  /** Keep only groups with right and wrong rollouts (§7.4). Off: a group that disagrees in tool calls alone may stay. */
  readonly mixedOnly: boolean;
  /**
   * How often each kept question has a place (default once). From its second place on it is another question, with another
   * draw of everything: its id ends in `~2`, `~3`, ….
   */
  readonly epochs?: number;
  /** Windows that may be incomplete at once: `windowsOpen(lagMax)` is enough. */
  readonly openMax: number;
  readonly seed: number;
}

type Candidate = WithPosition<Scored>;

function rights({ value }: Candidate): number[] {
  return correctnessOf(value);
}

function objectivesOf({ objectives, mode }: ParetoOptions): readonly [Objective, Objective] {
  const spread = mode === 'paper' ? 'deviation' : 'variance';
  return objectives ?? [toolCallDispersion(spread), correctnessDispersion(spread)];
}

function verdicts(members: readonly Candidate[], options: ParetoOptions): Selected[] {
  // The order of arrival is an accident; the order of ids is not, and ties in the sort follow it.
  const candidates = [...members].sort((a, b) =>
    a.value.question.id < b.value.question.id ? -1 : 1,
  );
  const [first, second] = objectivesOf(options);
  const points = candidates.map(({ value }) => [first(value), second(value)] as const);
  const keep = keepOf(options, candidates[0]!.value.question);
  const { ranks, distances, selected: fronts } = paretoSelect(points, keep, options.mode);
  const { stage, id } = candidates[0]!.value.question;
  const anyOf = (): number[] =>
    shuffled([...candidates.keys()], options.seed, 'random', stage, id).slice(0, keep);
  const random = options.sampler === 'random';
  const selected = random ? anyOf() : fronts;
  const fits = (i: number): boolean =>
    random
      ? true
      : options.mixedOnly
        ? isMixed(rights(candidates[i]!), candidates[i]!.value.question.ability)
        : points[i]!.some((objective) => objective > 0);
  // A round without anything to practise would never end: its best candidate stays.
  const worthy = selected.filter(fits);
  const kept = worthy.length > 0 ? worthy : selected.slice(0, 1);
  const place = new Map(
    shuffled(kept, options.seed, 'pareto', stage, id).map((candidate, index) => [candidate, index]),
  );
  const version = beginOf(
    candidates.map(({ value }) => value),
    options.window,
  );
  const lastFront = Math.max(...selected.map((i) => ranks[i]!));
  const why = (i: number): string => {
    if (place.has(i)) return 'selected';
    if (random) return 'not drawn';
    if (selected.includes(i)) return 'uniform';
    return ranks[i] === lastFront ? 'crowded' : 'dominated';
  };
  const others = candidates.map((_, i) => i).filter((i) => !place.has(i));
  const epochs = options.epochs ?? 1;
  const once = [...place.keys(), ...others].map((i) => ({
    question: candidates[i]!.value.question,
    objectives: points[i]!,
    front: ranks[i]!,
    distance: distances[i]!,
    kept: place.has(i),
    why: why(i),
    index: place.get(i) ?? -1,
    of: kept.length * epochs,
    version,
    scored: candidates[i]!.position,
  }));
  const again = (_: unknown, epoch: number): Selected[] => {
    if (epoch === 0) return once;
    const order = shuffled(once.slice(0, kept.length), options.seed, 'epoch', epoch, stage, id);
    return order.map((verdict, index) => ({
      ...verdict,
      question: { ...verdict.question, id: `${verdict.question.id}~${epoch + 1}` },
      index: epoch * kept.length + index,
    }));
  };
  return Array.from({ length: epochs }, again).flat();
}

function keepOf({ keep }: ParetoOptions, question: Question): number {
  return typeof keep === 'number' ? keep : keep(question);
}

function gatherWindows({
  window,
  openMax,
}: ParetoOptions): OperatorFunction<Delivery<Candidate>, Delivery<readonly Candidate[]>> {
  return gatherBy({
    key: ({ value: { question } }) => `${question.stage}/${windowOf(question, window).index}`,
    size: ({ value: { question } }) => windowOf(question, window).size,
    openMax,
  });
}

/** The window of a candidate, as a step of its stage; without places the stage is one window. */
function windowOf({ schedule }: Question, window: number): ScheduleStep {
  return stepAt(schedule ?? { index: 0, of: window }, window);
}

/**
 * The version that the window's steps start from: the one that it is due by its schedule (its rollouts may be older), or
 * else the newest that it was explored under.
 */
function beginOf(candidates: readonly Scored[], window: number): number {
  const { question } = candidates[0]!;
  if (question.schedule !== null)
    return versionOf(question.schedule.version, windowOf(question, window));
  return Math.max(...candidates.map(({ version }) => version));
}

/** scored (phase `explore`) → selected, one verdict a candidate. */
export function paretoSample(
  options: ParetoOptions,
): OperatorFunction<Delivery<Scored>, Delivery<Selected>> {
  return pipe(
    keepIf<Scored>((scored) => scored.question.phase === 'explore'),
    withPosition<Scored>(),
    options.by === 'count' ? gatherCount(options.window) : gatherWindows(options),
    expandEach(
      async (members: readonly Candidate[], { signal }) => {
        await options.ready?.(members[0]!.value.question, signal);
        return verdicts(members, options);
      },
      { concurrency: 1, onError: 'fail' },
    ),
  );
}
