/** What losses feed to their graphs: a number for each target token, or one for all. */
import type { Feed, Feeds } from '../../runtime/session.ts';
import type { TargetSequence } from '../loss.ts';
import { eachRun } from '../places.ts';

/** `value` of every target of these rows, row by row, as a vector [M]. */
export function perTarget(
  sequences: readonly TargetSequence[],
  rows: readonly number[],
  value: (row: number, place: number) => number,
): Feed {
  const placesOf = (row: number) => (sequences[row] as TargetSequence).places;
  const data = new Float64Array(rows.reduce((sum, row) => sum + placesOf(row).length, 0));
  let index = 0;
  for (const row of rows) for (const place of placesOf(row)) data[index++] = value(row, place);
  return { shape: [data.length], data };
}

/** The values of a sequence at every target of these rows; NaN where there are none. */
export function atTargets(
  sequences: readonly TargetSequence[],
  rows: readonly number[],
  values: (sequence: TargetSequence) => ArrayLike<number> | undefined,
): Feed {
  const all = rows.map((row) => sequences[row] as TargetSequence);
  const data = new Float64Array(all.reduce((sum, { places }) => sum + places.length, 0));
  let index = 0;
  for (const sequence of all) {
    const { places } = sequence;
    const own = values(sequence) ?? [];
    if (own instanceof Float32Array && own.length > (places.at(-1) ?? 0)) {
      const begin = index;
      eachRun(places, (from, place, length) => {
        data.set(own.subarray(place, place + length), begin + from);
      });
      index += places.length;
    } else for (const place of places) data[index++] = own[place] ?? Number.NaN;
  }
  return { shape: [data.length], data };
}

/** One number (rank 0) for an input of shape []. */
export function scalar(value: number): Feed {
  return { shape: [], data: Float64Array.of(value) };
}

/** The number at a place; NaN if there is none, which the step notices. */
export function at(values: ArrayLike<number> | undefined, place: number): number {
  return values?.[place] ?? Number.NaN;
}

/** `refLogProbs` [M] of these rows. */
export function references(sequences: readonly TargetSequence[], rows: readonly number[]): Feed {
  return atTargets(sequences, rows, ({ refLogProbs }) => refLogProbs);
}

/** Throws when a sequence lacks the reference policy's log-probs. */
export function checkReferences(sequences: readonly TargetSequence[]): void {
  const row = sequences.findIndex(
    ({ tokens, refLogProbs }) => refLogProbs?.length !== tokens.length,
  );
  if (row >= 0)
    throw new Error(
      `sequence ${row} has no reference log-prob for every token: score it with the reference policy`,
    );
}

/** Real numbers in the form that a graph takes. */
export function inFloat32(feeds: Feeds): Feeds {
  const rounded = Object.entries(feeds).map(([name, { shape, data }]) => {
    const whole = data instanceof Int32Array || data instanceof Float32Array;
    return [name, { shape, data: whole ? data : new Float32Array(data) }] as const;
  });
  return Object.fromEntries(rounded);
}
