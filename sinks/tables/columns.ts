/**
 * The columns of a topic as other programs read them: a record's position, then the fields of its contract,
 * nested as they are.
 *
 * `_partition`, `_offset`, `_key` and `_at` (when it was appended) come first in every format; none of our
 * fields begins with `_`. An Avro contract becomes Parquet's own types: records are structs, lists are lists
 * (packed numbers too), maps are maps, words of an enumeration are texts, whole numbers have 64 bits.
 */
import type { SchemaElement } from 'hyparquet';
import type { Stored } from '../../streams/index.ts';

/** A column with its value in a record. */
export interface Column {
  readonly name: string;
  /** In the order of a depth-first walk, as a Parquet file has them. */
  readonly elements: readonly SchemaElement[];
  of(stored: Stored<unknown>): unknown;
}

interface Kind {
  /** `optional` = may be null. */
  elements(name: string, optional: boolean): SchemaElement[];
  value(given: never): unknown;
}

type Avro =
  | string
  | readonly Avro[]
  | (Readonly<Record<string, unknown>> & { readonly type: Avro });

const repetition = (optional: boolean): Pick<SchemaElement, 'repetition_type'> => ({
  repetition_type: optional ? 'OPTIONAL' : 'REQUIRED',
});

function plain(
  element: Omit<SchemaElement, 'name'>,
  value: (given: never) => unknown = (given) => given,
): Kind {
  return {
    elements: (name, optional) => [{ name, ...element, ...repetition(optional) }],
    value,
  };
}

const TEXT = plain({ type: 'BYTE_ARRAY', converted_type: 'UTF8' });
const LONG = plain({ type: 'INT64' }, (given: number) => BigInt(given));
const PLAIN: Readonly<Record<string, Kind>> = {
  string: TEXT,
  boolean: plain({ type: 'BOOLEAN' }),
  int: plain({ type: 'INT32' }),
  long: LONG,
  float: plain({ type: 'FLOAT' }),
  double: plain({ type: 'DOUBLE' }),
  bytes: plain({ type: 'BYTE_ARRAY' }),
};
const numbers = (given: ArrayLike<number>): unknown => Array.from(given);
const PACKED: Readonly<Record<string, Kind>> = {
  'int32-array': { ...listOf(PLAIN.int!), value: numbers },
  'float32-array': { ...listOf(PLAIN.float!), value: numbers },
};

const envelope: readonly Column[] = [
  column('_partition', PLAIN.int!, ({ position }) => position.partition),
  column('_offset', LONG, ({ position }) => position.offset),
  column('_key', TEXT, ({ key }) => key),
  column('_at', plain({ type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' }), ({ atMs }) => {
    return new Date(atMs);
  }),
];

/** The columns of a topic with this Avro contract. */
export function columnsOf(schema: unknown): readonly Column[] {
  return [...envelope, ...rowColumns(schema)];
}

/** The columns of values with this contract that are not records of a topic: without a position. */
export function rowColumns(schema: unknown): readonly Column[] {
  const named = new Map<string, Kind>();
  const { fields } = schema as { readonly fields: readonly Field[] };
  return fields.map(({ name, type }) => {
    const { kind, optional } = meant(type, named);
    return column(name, kind, ({ value }) => (value as Values)[name], optional);
  });
}

interface Field {
  readonly name: string;
  readonly type: Avro;
}
type Values = Readonly<Record<string, unknown>>;

function column(
  name: string,
  kind: Kind,
  of: (stored: Stored<unknown>) => unknown,
  optional = false,
): Column {
  const value = orNull(kind);
  return { name, elements: kind.elements(name, optional), of: (stored) => value(of(stored)) };
}

function orNull({ value }: Kind): (given: unknown) => unknown {
  return (given) => (given === null || given === undefined ? null : value(given as never));
}

/** Contracts have no other unions than `null` with something. */
function meant(type: Avro, named: Map<string, Kind>): { kind: Kind; optional: boolean } {
  if (!Array.isArray(type)) return { kind: kindOf(type as Avro, named), optional: false };
  const inner = type.find((each) => each !== 'null')!;
  return { kind: kindOf(inner, named), optional: true };
}

function kindOf(type: Avro, named: Map<string, Kind>): Kind {
  if (typeof type === 'string') return named.get(type) ?? PLAIN[type]!;
  const given = type as Readonly<Record<string, unknown>>;
  switch (given.type) {
    case 'record':
      return remember(named, given, struct(given.fields as readonly Field[], named));
    case 'enum':
      return remember(named, given, TEXT);
    case 'array': {
      const { kind } = meant(given.items as Avro, named);
      const value = orNull(kind);
      return { ...listOf(kind), value: (items: readonly unknown[]) => items.map(value) };
    }
    case 'map': {
      const { kind, optional } = meant(given.values as Avro, named);
      const value = orNull(kind);
      return {
        elements: (name, may) => [
          { name, converted_type: 'MAP', num_children: 1, ...repetition(may) },
          { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
          ...TEXT.elements('key', false),
          ...kind.elements('value', optional),
        ],
        value: (entries: Values) =>
          Object.entries(entries).map(([key, inner]) => ({ key, value: value(inner) })),
      };
    }
    default:
      return PACKED[given.logicalType as string] ?? kindOf(given.type as Avro, named);
  }
}

function remember(named: Map<string, Kind>, { name }: Values, kind: Kind): Kind {
  named.set(name as string, kind);
  return kind;
}

function struct(fields: readonly Field[], named: Map<string, Kind>): Kind {
  const parts = fields.map(({ name, type }) => ({ name, ...meant(type, named) }));
  const values = parts.map(({ name, kind }) => ({ name, value: orNull(kind) }));
  return {
    elements: (name, optional) => [
      { name, num_children: parts.length, ...repetition(optional) },
      ...parts.flatMap((part) => part.kind.elements(part.name, part.optional)),
    ],
    value: (given: Values) =>
      Object.fromEntries(values.map(({ name, value }) => [name, value(given[name])])),
  };
}

function listOf(kind: Kind): Pick<Kind, 'elements'> {
  return {
    elements: (name, optional) => [
      { name, converted_type: 'LIST', num_children: 1, ...repetition(optional) },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      ...kind.elements('element', false),
    ],
  };
}
