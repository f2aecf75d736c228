/**
 * A few hundred documented functions and their answers: one for each property of each kind of thing. A rule
 * answers them from the seed, the function and the name of the thing, so that all rollouts of a question see
 * the same world.
 */
import { draws } from 'millrace';
import type { ToolDoc } from 'millrace/operators';

export const KINDS =
  'tower bridge ship horse lamp book tent boat clock statue garden mill barn coin ring flute harp sword wagon kite'.split(
    ' ',
  );
export const PROPERTIES =
  'height age price length weight speed width depth value area rank range power grade score'.split(
    ' ',
  );
export const NAMES =
  'Arlen Bora Cedric Dalia Elmo Fenna Gorin Hilda Ivo Jora Kasper Lona Mirko Nadia Odo Petra Quin Rosa Sven Tilda Ulf Vera Wim Xenia Yara Zeno Alba Bruno Cora Dino'.split(
    ' ',
  );

/** What a question requires. */
export interface Item {
  readonly property: string;
  readonly kind: string;
  readonly name: string;
}

export const functionOf = ({ kind, property }: Pick<Item, 'kind' | 'property'>): string =>
  `${kind}_${property}`;

/** All of them: 300. */
export const functions: readonly ToolDoc[] = KINDS.flatMap((kind) =>
  PROPERTIES.map((property) => ({
    name: functionOf({ kind, property }),
    description: `Gives the ${property} of a ${kind}.`,
    parameters: {
      type: 'object' as const,
      properties: { of: { type: 'string' } },
      required: ['of'],
    },
  })),
);

/** Two digits. */
export function valueIn(seed: number, { kind, property, name }: Item): number {
  return 10 + draws('deep-agent-world', seed, kind, property, name).integer(0, 90);
}

/** A function's answer, by its name; an error for a thing that does not exist. */
export function answerOf(seed: number, fn: string, name: string): unknown {
  const [kind = '', property = ''] = fn.split('_');
  if (!NAMES.includes(name)) return { error: `there is no ${kind} of that name` };
  return { [property]: valueIn(seed, { kind, property, name }) };
}
