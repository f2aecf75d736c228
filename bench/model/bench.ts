/** What every part of the benchmark is given, and the rows that it makes. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DecoderConfig } from '../../model/config.ts';
import { initialise } from '../../model/config.ts';
import { inMemory } from '../../model/hf/tensorSource.ts';
import { writeFolder } from '../../model/hf/writeFolder.ts';
import type { Row, Unmeasured } from '../table.ts';
import { SHAPES, type ShapeName } from './shapes.ts';

export type AnyRow = Row | Unmeasured;

export interface Bench {
  /** Fewer turns, and less work in a turn: to see that it runs. */
  readonly quick: boolean;
  /** For files; removed at the end. */
  readonly folder: string;
  /** Turns that count; odd. */
  readonly turns: number;
}

export const clock = { now: () => performance.now() };

const written = new Map<ShapeName, Promise<unknown>>();

/** The Hugging Face folder of untrained weights of a shape, which both sides read. */
export async function weightsFolder({ folder }: Bench, name: ShapeName): Promise<string> {
  const path = join(folder, name);
  const write = () => {
    mkdirSync(folder, { recursive: true });
    return writeFolder(path, SHAPES[name], inMemory(widened(SHAPES[name])), { dtype: 'F32' });
  };
  if (!written.has(name)) written.set(name, write());
  await written.get(name);
  return path;
}

/** First weights, with matrices three times as large: tokens are then far from equally likely. */
function widened(config: DecoderConfig): ReturnType<typeof initialise> {
  const tensors = initialise(config, 1);
  for (const { shape, data } of tensors.values())
    if (shape.length === 2) for (let i = 0; i < data.length; i++) data[i]! *= 3;
  return tensors;
}

/** Rates: the ratio says how many times theirs ours is. */
export function rates(
  what: string,
  against: string,
  { ours, theirs }: { readonly ours: number; readonly theirs: number },
  {
    unit,
    goal,
    note,
  }: { readonly unit: string; readonly goal: number | null; readonly note: string },
): Row {
  const said = note === '' ? {} : { note };
  return { what, against, ours, theirs, ratio: ours / theirs, unit, goal, ...said };
}

/** Times or bytes that have to stay at or below `goal` times theirs. */
export function atMost(...args: Parameters<typeof rates>): Row {
  return { ...rates(...args), atMost: true };
}

/**
 * Throws when two computations of the same numbers are further apart than `within`: then no time is worth
 * comparing.
 */
export function mustAgree(what: string, ours: number, theirs: number, within = 1e-3): void {
  if (!(Math.abs(ours - theirs) <= within))
    throw new Error(`${what}: ours ${ours}, theirs ${theirs}; they do not compute the same`);
}
