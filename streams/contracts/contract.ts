/**
 * Why one Avro schema cannot read what another has written, in sentences with the field and what to do.
 *
 * It follows Avro's rules of resolution: fields meet by name or alias, a field that the writer lacks needs a
 * default, numbers widen, every word and every branch must be known. More strictly, packed arrays must
 * stay the same.
 */

import { packedTypes } from './packed.ts';

/** A schema as JSON: a name, a union, or an object. */
type Schema = string | readonly Schema[] | SchemaObject;

interface SchemaObject {
  readonly type: Schema;
  readonly name?: string;
  readonly logicalType?: string;
  readonly fields?: readonly Field[];
  readonly symbols?: readonly string[];
  readonly items?: Schema;
  readonly values?: Schema;
}

interface Field {
  readonly name: string;
  readonly type: Schema;
  readonly aliases?: readonly string[];
  readonly default?: unknown;
}

type Names = ReadonlyMap<string, SchemaObject>;

/** What each type may be read as besides itself. */
const WIDENS: Readonly<Record<string, readonly string[]>> = {
  int: ['long', 'float', 'double'],
  long: ['float', 'double'],
  float: ['double'],
  string: ['bytes'],
  bytes: ['string'],
};

/** One sentence a breach; none when `reader` can read what `writer` wrote. */
export function breaches(writer: unknown, reader: unknown): readonly string[] {
  const [older, newer] = [writer as Schema, reader as Schema];
  return new Comparison(namesIn(older), namesIn(newer)).of(older, newer, '');
}

class Comparison {
  readonly #older: Names;
  readonly #newer: Names;
  /**
   * What was found for each pair of records; empty for a pair still being compared, as a schema may contain
   * itself.
   */
  readonly #found = new Map<SchemaObject, readonly string[]>();

  constructor(older: Names, newer: Names) {
    this.#older = older;
    this.#newer = newer;
  }

  of(writer: Schema, reader: Schema, path: string): readonly string[] {
    if (isUnion(writer)) return writer.flatMap((branch) => this.#branch(branch, reader, path));
    if (isUnion(reader)) return this.#branch(writer, reader, path);
    const [older, newer] = [resolved(writer, this.#older), resolved(reader, this.#newer)];
    const [was, is] = [kindOf(older), kindOf(newer)];
    if (was !== is) {
      return WIDENS[was]?.includes(is) ? [] : [`${at(path)} was ${was} and is ${is}: ${KEEP_TYPE}`];
    }
    switch (is) {
      case 'record':
        return this.#records(older as SchemaObject, newer as SchemaObject, path);
      case 'enum':
        return words(older as SchemaObject, newer as SchemaObject, path);
      case 'array':
        return this.of(partOf(older, 'items'), partOf(newer, 'items'), `${path}[]`);
      case 'map':
        return this.of(partOf(older, 'values'), partOf(newer, 'values'), `${path}{}`);
      default:
        return [];
    }
  }

  /** What one branch of the older union (or the whole type) is read as. */
  #branch(branch: Schema, reader: Schema, path: string): readonly string[] {
    const choices = isUnion(reader) ? reader : [reader];
    const tried = choices.map((choice) => this.of(branch, choice, path));
    if (tried.some((found) => found.length === 0)) return [];
    const was = kindOf(resolved(branch, this.#older));
    if (was === 'null') {
      return [`${at(path)} could be null and no longer can: ${KEEP_NULL}`];
    }
    // A branch of the same kind gives the clearest reason.
    const same = choices.findIndex((choice) => kindOf(resolved(choice, this.#newer)) === was);
    return tried[Math.max(0, same)]!;
  }

  #records(older: SchemaObject, newer: SchemaObject, path: string): readonly string[] {
    if (older.name !== newer.name) {
      return [
        `${at(path)} was a ${older.name} and is a ${newer.name}: a record must keep its name, so restore it`,
      ];
    }
    const found = this.#found.get(newer);
    if (found !== undefined) return found;
    this.#found.set(newer, []);
    const all = this.#fields(older, newer, path);
    this.#found.set(newer, all);
    return all;
  }

  #fields(older: SchemaObject, newer: SchemaObject, path: string): readonly string[] {
    const known = new Map(older.fields!.map((field) => [field.name, field]));
    return newer.fields!.flatMap((field) => {
      const inner = path === '' ? field.name : `${path}.${field.name}`;
      const names = [field.name, ...(field.aliases ?? [])];
      const before = names.map((name) => known.get(name)).find((each) => each !== undefined);
      if (before !== undefined) return this.of(before.type, field.type, inner);
      if ('default' in field) return [];
      return [
        `field ${inner} is new and has no default: older records lack it, so give it one (withDefault)`,
      ];
    });
  }
}

/** Bytes that are numbers: the Avro library would read them as any bytes, or as text. */
const PACKED: ReadonlySet<string> = new Set(Object.values(packedTypes));

const KEEP_TYPE =
  'a field must keep its type: leave it as it was, and add a new field with a default';
const KEEP_NULL = 'older records hold null, so keep it nullable';

function words(older: SchemaObject, newer: SchemaObject, path: string): readonly string[] {
  const lost = older.symbols!.filter((word) => !newer.symbols!.includes(word));
  if (older.name !== newer.name) {
    return [`${at(path)} was a ${older.name} and is a ${newer.name}: a choice must keep its name`];
  }
  return lost.length === 0
    ? []
    : [`${at(path)} lost ${lost.join(', ')}: older records use them, so keep them in the choice`];
}

function at(path: string): string {
  return path === '' ? 'the record' : `field ${path}`;
}

function isUnion(schema: Schema): schema is readonly Schema[] {
  return Array.isArray(schema);
}

/** The definition of a name; a primitive stays a name. */
function resolved(schema: Schema, names: Names): Schema {
  if (typeof schema === 'string') return names.get(schema) ?? schema;
  return schema;
}

/** What is compared first: the type itself, or what our logical types make of it. */
function kindOf(schema: Schema): string {
  if (typeof schema === 'string') return schema;
  const { type, logicalType } = schema as SchemaObject;
  if (logicalType !== undefined && PACKED.has(logicalType)) return logicalType;
  return typeof type === 'string' ? type : kindOf(type);
}

function partOf(schema: Schema, part: 'items' | 'values'): Schema {
  return (schema as SchemaObject)[part]!;
}

function namesIn(schema: Schema, names = new Map<string, SchemaObject>()): Names {
  if (typeof schema === 'string') return names;
  if (isUnion(schema)) {
    for (const branch of schema) namesIn(branch, names);
    return names;
  }
  const { name, fields = [], items, values } = schema;
  if (name !== undefined) names.set(name, schema);
  for (const field of fields) namesIn(field.type, names);
  for (const part of [items, values]) if (part !== undefined) namesIn(part, names);
  return names;
}
