/**
 * Measuring several things in turns, so that what the machine does meanwhile strikes all of them alike.
 */
import { median } from '../table.ts';
import { Others } from './machine.ts';

/** Cores that others may take before a row says so. */
const QUIET_CORES = 0.1;

export interface Turns<Name extends string> {
  /** The median of each side's values. */
  readonly medians: Readonly<Record<Name, number>>;
  /** Says how busy the machine was with other things; '' when it was not. */
  readonly note: string;
}

/**
 * Each side in turn, `count` times (an odd number) after a turn that does not count, unless `warm` is false.
 */
export async function inTurns<Name extends string>(
  count: number,
  sides: Readonly<Record<Name, () => Promise<number>>>,
  { pids = [], warm = true }: { readonly pids?: readonly number[]; readonly warm?: boolean } = {},
): Promise<Turns<Name>> {
  const entries = Object.entries(sides) as [Name, () => Promise<number>][];
  const values = new Map<Name, number[]>(entries.map(([name]) => [name, []]));
  if (warm) for (const [, side] of entries) await side();
  const others = new Others(pids);
  for (let turn = 0; turn < count; turn++)
    for (const [name, side] of entries) values.get(name)!.push(await side());
  const medians = Object.fromEntries([...values].map(([name, all]) => [name, median(all)]));
  return { medians: medians as Record<Name, number>, note: busyNote(others.cores()) };
}

/** What a row says of them. */
export function busyNote(cores: number): string {
  return cores > QUIET_CORES ? `others took ${cores.toFixed(1)} cores` : '';
}
