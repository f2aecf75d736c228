/**
 * Goes through seeds: returns the history of each and, for one that fails, the fewest faults that make it
 * fail.
 */
import { type Fault, type FaultKind, faultsOf } from '../faults/fault.ts';
import { type History, historyOf } from '../faults/history.ts';
import { shrunk } from '../faults/shrink.ts';
import { shapeOf } from '../world/shape.ts';

/** Which faults of a seed: all of these kinds, or those with these numbers. */
export type Chosen =
  | { readonly kinds: readonly FaultKind[] }
  | { readonly numbers: readonly number[] };

/** The result for a seed. */
export interface Found
  extends Pick<History, 'seed' | 'breaches' | 'digest' | 'ms' | 'starts' | 'versions'> {
  /** Numbers of its faults, from 0: all, or the few that suffice. */
  readonly faults: readonly number[];
  readonly kinds: readonly FaultKind[];
}

/** The faults of a seed, each with its number. */
function numbered(seed: number, chosen: Chosen): readonly (readonly [number, Fault])[] {
  const all = faultsOf(shapeOf(seed)).map((fault, number) => [number, fault] as const);
  return all.filter(([number, { kind }]) =>
    'kinds' in chosen ? chosen.kinds.includes(kind) : chosen.numbers.includes(number),
  );
}

export async function trySeed(
  seed: number,
  chosen: Chosen,
  {
    shrink = true,
    print,
  }: { readonly shrink?: boolean; readonly print?: (line: string) => void } = {},
): Promise<Found> {
  const shape = shapeOf(seed);
  const all = numbered(seed, chosen);
  const lived = (some: typeof all): Promise<History> =>
    historyOf(
      shape,
      some.map(([, fault]) => fault),
      print,
    );
  let history = await lived(all);
  let faults = all;
  if (history.breaches.length > 0 && shrink) {
    faults = await shrunk(all, async (some) => (await lived(some)).breaches.length > 0);
    history = await lived(faults);
  }
  const { breaches, digest, ms, starts, versions } = history;
  return {
    ...{ seed, breaches, digest, ms, starts, versions },
    faults: faults.map(([number]) => number),
    kinds: faults.map(([, { kind }]) => kind),
  };
}
