/**
 * `paretoSample`: the scored candidates of a round in, a verdict on each out (ET-Agent §7).
 *
 * Group-wise Pareto sampling: a question is worth practising when its rollouts disagree, in tool calls and in
 * correctness. The sort runs over all candidates of a window, so nothing leaves before the last one is
 * scored. A window is a round, or, if the candidates have places in a schedule, a number of its places; if
 * windows are cut by time, as many candidates as the record of the cut says, which is waited for. Those kept
 * get places of their own by a keyed shuffle, and leave in that order: a practice stage with fewer places
 * than a round has questions would otherwise fill up with those that are not due yet.
 *
 * With `earlier`, candidates are sorted together with the groups of earlier windows
 * (sampling/runningFront.ts).
 */
import { defer, type OperatorFunction, pipe } from 'rxjs';
import { shuffled } from '../base/index.ts';
import { type Delivery, type StopSignals, unlessStopping } from '../streams/deliveries/index.ts';
import { expandEach, gatherBy, gatherCount, keepIf, mapEach } from '../streams/index.ts';
import { type Question, type Scored, type Selected, versionOf, windowOf } from '../topics/index.ts';
import { BOUNDED_BY_ADMISSION } from './gate.ts';
import { isMixed } from './sampling/dispersion.ts';
import type { Point } from './sampling/fronts.ts';
import {
  correctnessDispersion,
  correctnessOf,
  type Objective,
  toolCallDispersion,
} from './sampling/objectives.ts';
import { paretoSelect } from './sampling/pareto.ts';
import { EarlierGroups, type RunningFront } from './sampling/runningFront.ts';
import { type WithPosition, withPosition } from './withPosition.ts';

/** The window to sort, what to keep of it, and by which objectives. */
export interface ParetoOptions {
  /**
   * `random` keeps any: a control, to see what the fronts add. Left out = `pareto`; `front` is that with
   * `earlier` groups.
   */
  readonly sampler?: 'pareto' | 'front' | 'random';
  /** Limit of groups to keep per window (N); as a function, depending on one of its questions. */
  readonly keep: number | ((question: Question) => number);
  /** Awaited before a window is sorted: for what `keep` must know about it. */
  readonly ready?: (question: Question, signal: AbortSignal) => Promise<void>;
  /**
   * Candidates of a window. `by: 'round'` (default): those of a round, or with scheduled candidates of a part
   * of one. `by: 'count'`: this many as they arrive, whatever their round; the order of the topic decides.
   */
  readonly window: number;
  readonly by?: 'round' | 'count';
  /**
   * Where windows are cut by time, so that `window` is only the most they take: how many that of a question
   * took, once it is cut.
   */
  readonly sizeOf?: (question: Question, until: AbortSignal) => Promise<number>;
  /**
   * The groups of earlier windows to sort candidates with: the running front. Without it each window is
   * sorted alone.
   */
  readonly earlier?: RunningFront;
  /**
   * Two numbers of a group to maximise; by default how much its rollouts disagree in tool calls and in
   * correctness.
   */
  readonly objectives?: readonly [Objective, Objective];
  /**
   * `paper`: standard deviations instead of variances, and crowding without infinite ends. Default as
   * released.
   */
  readonly mode?: 'reference' | 'paper';
  /**
   * Keep only groups with right and wrong rollouts (§7.4). Off: a group that disagrees only in tool calls may
   * stay.
   */
  readonly mixedOnly: boolean;
  /**
   * How often each kept question has a place (default once). From its second place on it counts as another
   * question, with draws of its own: its id ends in `~2`, `~3`, ….
   */
  readonly epochs?: number;
  /** Limit of incomplete windows: `windowsOpen(lagMax)` suffices. */
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

function verdicts(
  members: readonly Candidate[],
  options: ParetoOptions,
  earlier: readonly Point[] = [],
): Selected[] {
  // Arrival order is arbitrary, the order of ids is not, and ties in the sort follow it.
  const candidates = [...members].sort((a, b) =>
    a.value.question.id < b.value.question.id ? -1 : 1,
  );
  const [first, second] = objectivesOf(options);
  const points = candidates.map(({ value }) => [first(value), second(value)] as const);
  const keep = keepOf(options, candidates[0]!.value.question);
  // Keeps the same share of all those compared as of a window: more of a good window, fewer of a poor one.
  const all = [...points, ...earlier];
  const most = options.earlier ? Math.ceil((all.length * keep) / options.window) : keep;
  const { ranks, distances, selected: best } = paretoSelect(all, most, options.mode);
  const fronts = best.filter((i) => i < points.length);
  const { round, id } = candidates[0]!.value.question;
  const anyOf = (): number[] =>
    shuffled([...candidates.keys()], options.seed, 'random', round, id).slice(0, keep);
  const random = options.sampler === 'random';
  const selected = random ? anyOf() : fronts;
  const fits = (i: number): boolean =>
    random
      ? true
      : options.mixedOnly
        ? isMixed(rights(candidates[i]!), candidates[i]!.value.question.ability)
        : points[i]!.some((objective) => objective > 0);
  // A round with nothing to practise would never end, so its best candidate stays.
  const worthy = selected.filter(fits);
  const leader = selected[0] ?? ranks.indexOf(Math.min(...ranks.slice(0, points.length)));
  const kept = worthy.length > 0 ? worthy : [leader];
  const place = new Map(
    shuffled(kept, options.seed, 'pareto', round, id).map((candidate, index) => [candidate, index]),
  );
  const version = beginOf(
    candidates.map(({ value }) => value),
    options.window,
  );
  const lastFront = Math.max(...(random ? selected : best).map((i) => ranks[i]!));
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
    const order = shuffled(once.slice(0, kept.length), options.seed, 'epoch', epoch, round, id);
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

/** A candidate, and the number of candidates in its window. */
interface Sized {
  readonly candidate: Candidate;
  readonly size: number;
}

function gatherWindows({
  window,
  openMax,
  sizeOf,
}: ParetoOptions): OperatorFunction<Delivery<Candidate>, Delivery<readonly Candidate[]>> {
  const key = ({ value: { question } }: Candidate): string =>
    `${question.round}/${windowOf(question, window).index}`;
  if (sizeOf === undefined) {
    const size = ({ value: { question } }: Candidate): number => windowOf(question, window).size;
    return gatherBy({ key, size, openMax });
  }
  const sized = async (candidate: Candidate, signals: StopSignals): Promise<Sized> => {
    signals.paced?.(true);
    const size = await unlessStopping(signals, 'the window was cut', (until) =>
      sizeOf(candidate.value.question, until),
    );
    return { candidate, size };
  };
  return pipe(
    // As many wait as the stage has in flight.
    mapEach(sized, { concurrency: BOUNDED_BY_ADMISSION, onError: 'fail' }),
    gatherBy<Sized>({ key: ({ candidate }) => key(candidate), size: ({ size }) => size, openMax }),
    mapEach((members) => members.map(({ candidate }) => candidate), { concurrency: 1 }),
  );
}

/**
 * The version that the window's steps start from: the one that it is due by its schedule (its rollouts may be
 * older), or else the newest that it was explored under.
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
  const { by, window, openMax, earlier } = options;
  return (source) =>
    defer(() =>
      source.pipe(
        keepIf<Scored>((scored) => scored.question.phase === 'explore'),
        withPosition<Scored>(),
        by === 'count' ? gatherCount(window) : gatherWindows(options),
        earlier === undefined
          ? expandEach(judging(options), { concurrency: 1, onError: 'fail' })
          : // A later window may be complete first, and then waits for its turn.
            expandEach(judgingWith(earlier, options), { concurrency: openMax, onError: 'fail' }),
      ),
    );
}

type Judging = (members: readonly Candidate[], signals: StopSignals) => Promise<Selected[]>;

function judging(options: ParetoOptions): Judging {
  return async (members, { signal }) => {
    await options.ready?.(members[0]!.value.question, signal);
    return verdicts(members, options);
  };
}

/** Judges one window after another, with the running front between them. */
function judgingWith(earlier: RunningFront, options: ParetoOptions): Judging {
  const groups = new EarlierGroups(earlier, options.epochs ?? 1);
  return async (members, signals) => {
    await options.ready?.(members[0]!.value.question, signals.signal);
    const version = beginOf(
      members.map(({ value }) => value),
      options.window,
    );
    await unlessStopping(signals, 'the windows before it were judged', (until) =>
      earlier.turn(version, until),
    );
    const judged = verdicts(members, options, await groups.points());
    groups.add(judged);
    return judged;
  };
}
