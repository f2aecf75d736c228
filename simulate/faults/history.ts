/**
 * One history: a seed's run with its faults, and what is wrong with it.
 */
import type { Shape } from '../world/shape.ts';
import { World } from '../world/world.ts';
import { changeNothing, type Fault } from './fault.ts';
import { breaches, digestOfAll, weightsIn } from './laws.ts';
import { replayedOtherwise } from './replayed.ts';

export interface History {
  readonly seed: number;
  readonly faults: readonly Fault[];
  /** Sentences; empty if all laws hold. */
  readonly breaches: readonly string[];
  readonly digest: string;
  /** Virtual. */
  readonly ms: number;
  readonly points: number;
  readonly starts: number;
  readonly versions: number;
}

export async function historyOf(
  shape: Shape,
  faults: readonly Fault[],
  print?: (line: string) => void,
): Promise<History> {
  const { weights, store, ...history } = await lived(shape, faults, print);
  const found = [...history.breaches];
  if (found.length === 0) found.push(...(await otherwise(shape, faults, { weights, store })));
  return { ...history, breaches: found, versions: weights.length - 1 };
}

/**
 * With on-policy training a run makes the same weights whatever happens to it, unless the faults change the
 * results of a question; otherwise a replay reproduces what it made. That is half of all the work, so only
 * some are checked.
 */
async function otherwise(
  shape: Shape,
  faults: readonly Fault[],
  { weights, store }: Pick<Awaited<ReturnType<typeof lived>>, 'weights' | 'store'>,
): Promise<readonly string[]> {
  const { seed, settings } = shape;
  const timeless = settings.lagMax === 0 && settings.window === 'count' && changeNothing(faults);
  if (faults.length > 0 && timeless) {
    const calm = await lived(shape, []);
    // For a run that was stopped, what both have.
    const both = shape.stopMs === null ? undefined : Math.min(calm.weights.length, weights.length);
    const [one, other] = [calm.weights.slice(0, both), weights.slice(0, both)];
    if (one.join() !== other.join()) return [otherWeights(one, other)];
  } else if (seed % REPLAYED === 0) {
    const other = await replayedOtherwise(shape, store);
    if (other !== null) return [other];
  }
  return [];
}

/** One in this many histories is replayed. */
const REPLAYED = 3;

async function lived(shape: Shape, faults: readonly Fault[], print?: (line: string) => void) {
  const world = new World({ shape, faults, ...(print === undefined ? {} : { print }) });
  const { unfinished, broken, ms, points, starts } = await world.live();
  const { store, disk, clock } = world;
  const finished = unfinished === null && broken.length === 0;
  const ended = finished && shape.stopMs === null;
  const laws = await breaches({ shape, store, disk, clock, finished: ended });
  return {
    ...{ seed: shape.seed, faults, ms, points, starts, store },
    breaches: [
      ...broken,
      ...(unfinished === null ? [] : [`the run does not end: ${unfinished}`]),
      ...laws,
    ],
    digest: digestOfAll(store),
    weights: await weightsIn(store, clock),
  };
}

/** With lagMax 0 what is learnt does not depend on timing. */
function otherWeights(calm: readonly string[], found: readonly string[]): string {
  const at = calm.findIndex((version, i) => version !== found[i]);
  const text = (version = 'none'): string => version.slice(0, 12);
  return `without the faults the run makes other weights: ${text(calm[at])}, not ${text(found[at])}`;
}
