/**
 * Avro schemas that TypeScript checks: a `Shape<T>` is a schema whose values are of type T.
 *
 * `record<Question>('Question', {...})` does not compile unless it lists every field of Question with a
 * shape of that field's type. A named shape (record, choice) is written out where it is first used and
 * referred to by name after that, as Avro asks.
 */
import { packedTypes } from './packed.ts';

/** Names that were already written out in the schema being rendered. */
type Seen = Set<string>;

export interface Shape<T> {
  render(seen: Seen): unknown;
  /** Only for the type checker: T is both what goes in and what comes out. */
  readonly carries?: (value: T) => T;
  readonly defaultTo?: T;
}

const plain = <T>(schema: unknown): Shape<T> => ({ render: () => schema });

function named<T>(name: string, body: (seen: Seen) => object): Shape<T> {
  return {
    render(seen) {
      if (seen.has(name)) return name;
      seen.add(name);
      return { name, ...body(seen) };
    },
  };
}

/** UTF-8 text. */
export const text = plain<string>('string');
export const flag = plain<boolean>('boolean');
/** Whole number, up to 2^53 on either side. */
export const whole = plain<number>('long');
/** Any number; Infinity and NaN too. */
export const real = plain<number>('double');
/** Packed little-endian, 4 bytes an element. */
export const int32s = plain<Int32Array>({ type: 'bytes', logicalType: packedTypes.int32 });
/** Packed little-endian, 4 bytes an element. */
export const float32s = plain<Float32Array>({ type: 'bytes', logicalType: packedTypes.float32 });

export function list<T>(items: Shape<T>): Shape<readonly T[]> {
  return { render: (seen) => ({ type: 'array', items: items.render(seen) }) };
}

export function map<T>(values: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return { render: (seen) => ({ type: 'map', values: values.render(seen) }) };
}

export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return { render: (seen) => ['null', shape.render(seen)] };
}

/** One of these words. */
export function choice<T extends string>(name: string, symbols: readonly T[]): Shape<T> {
  return named(name, () => ({ type: 'enum', symbols }));
}

/** A field that older records lack: they read as `value`. */
export function withDefault<T>(shape: Shape<T>, value: T): Shape<T> {
  return { ...shape, defaultTo: value };
}

export function record<T extends object>(
  name: string,
  fields: { readonly [K in keyof T]-?: Shape<T[K]> },
): Shape<T> {
  return named(name, (seen) => ({
    type: 'record',
    fields: Object.entries(fields as Readonly<Record<string, Shape<unknown>>>).map(
      ([field, shape]) => ({
        name: field,
        type: shape.render(seen),
        ...('defaultTo' in shape ? { default: shape.defaultTo } : {}),
      }),
    ),
  }));
}

/** The Avro schema, as JSON. */
export function schemaOf(shape: Shape<never> | Shape<unknown>): unknown {
  return shape.render(new Set());
}
