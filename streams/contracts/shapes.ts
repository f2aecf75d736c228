/**
 * Avro schemas that are types: a `Shape<T>` is a schema whose values are of type T, and T is inferred from
 * it.
 *
 *     const note = record('Note', {
 *       about: text,
 *       // from 1 to 5 (a doc comment on a field of a shape is shown on the field of the record)
 *       stars: whole,
 *     });
 *     export interface Note extends ValueOf<typeof note> {}
 *
 * A record or choice is written out where it is first used and referred to by name after that, as Avro asks.
 */
import { packedTypes } from './packed.ts';

/** Names that were already written out in the schema being rendered. */
type Seen = Set<string>;

/** A shape of whatever values. */
interface AnyShape {
  render(seen: Seen): unknown;
  readonly defaultTo?: unknown;
  /** Names under which older records have the field. */
  readonly aliases?: readonly string[];
}

export interface Shape<T> extends AnyShape {
  /** Only for the type checker: T is both what goes in and what comes out. */
  readonly carries?: (value: T) => T;
  readonly defaultTo?: T;
}

/** The type of a shape's values. */
export type ValueOf<S> = S extends Shape<infer T> ? T : never;

const plain = <T>(schema: unknown): Shape<T> => ({ render: () => schema });

function writtenOnce<T>(name: string, body: (seen: Seen) => object): Shape<T> {
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
export function choice<const T extends string>(name: string, symbols: readonly T[]): Shape<T> {
  return writtenOnce(name, () => ({ type: 'enum', symbols }));
}

/** A field that older records lack: they read as `value`. */
export function withDefault<T>(shape: Shape<T>, value: T): Shape<T> {
  return { ...shape, defaultTo: value };
}

/** A field that had another name in older records. */
export function formerly<T>(name: string, shape: Shape<T>): Shape<T> {
  return { ...shape, aliases: [...(shape.aliases ?? []), name] };
}

/** The fields of a record, in the order on the wire. */
export type Fields = Readonly<Record<string, AnyShape>>;

export type RecordOf<F> = { readonly [K in keyof F]: ValueOf<F[K]> };

export function record<F extends Fields>(name: string, fields: F): Shape<RecordOf<F>> {
  return writtenOnce(name, (seen) => ({
    type: 'record',
    fields: Object.entries(fields).map(([field, shape]) => ({
      name: field,
      type: shape.render(seen),
      ...(shape.aliases === undefined ? {} : { aliases: shape.aliases }),
      ...('defaultTo' in shape ? { default: shape.defaultTo } : {}),
    })),
  }));
}

/**
 * The same shape by the name of an interface: if it is a part of another record, editors and messages then
 * show `Order` and not its fields.
 */
export function named<T>(shape: Shape<T>): Shape<T> {
  return shape;
}

/** The Avro schema, as JSON. */
export function schemaOf(shape: AnyShape): unknown {
  return shape.render(new Set());
}
