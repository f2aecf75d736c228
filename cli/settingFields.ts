/**
 * The settings in a job's zod schema: its fields, their descriptions, and the defaults of its groups.
 *
 * Nothing else looks inside zod. A schema may be wrapped (optional, a default, a transformation); this looks
 * through the layers.
 */
import type { z } from 'zod';

export type Settings = Readonly<Record<string, unknown>>;

/** One setting of a schema, for people. */
export interface KnownSetting {
  readonly key: string;
  readonly about: string;
  /** Whether it may change during a run (`mayChange`). */
  readonly live?: boolean;
  /** Why changing it would do nothing in a run with these settings; null if it does something. */
  readonly idle?: (settings: Settings) => string | null;
  /** It says where something is, so a resumed run may have another value (`placeSetting`). */
  readonly place?: boolean;
}

/** A field of a schema: a setting, or a group of them (`inner`). */
export interface SettingField extends KnownSetting {
  readonly name: string;
  /** Its allowed values, if they are a list; empty otherwise. */
  readonly choices: readonly string[];
  /** Empty if it is a setting itself. */
  readonly inner: readonly SettingField[];
}

/** Every setting of a schema by its dotted key; empty if the schema is not an object. */
export function knownSettings(schema: z.ZodType): KnownSetting[] {
  const leaves = (fields: readonly SettingField[]): KnownSetting[] =>
    fields.flatMap(({ name: _name, choices: _choices, inner, ...setting }) =>
      inner.length > 0 ? leaves(inner) : [setting],
    );
  return leaves(groupsOf(schema));
}

/** The fields of a schema as a tree; empty if the schema is not an object. */
export function groupsOf(schema: z.ZodType, prefix = ''): readonly SettingField[] {
  return Object.entries(shapeOf(schema) ?? {}).map(([name, field]) => {
    const key = prefix + name;
    const said = { about: aboutOf(field), choices: choicesOf(field), ...marksOf(field) };
    return { name, key, ...said, inner: groupsOf(field, `${key}.`) };
  });
}

/**
 * The settings over the defaults that a job gives its groups (`finetuneSettings.prefault({ lr: 5e-6 })`), key
 * by key: zod takes those only where nothing of a group is given, so that one setting would undo the defaults
 * of all next to it.
 */
export function overDefaults(schema: z.ZodType, settings: unknown): unknown {
  if (!isGroup(settings)) return settings;
  const defaults = layersOf(schema)
    .map(definitionOf)
    .filter(({ type }) => type === 'prefault');
  const whole = defaults.reduce<unknown>(
    (above, { defaultValue }) => over(schema, defaultValue, above),
    settings,
  );
  return mapFields(schema, whole as Settings, overDefaults);
}

/** One group's values over another's, if the schema has groups; otherwise the upper value. */
function over(schema: z.ZodType, below: unknown, above: unknown): unknown {
  if (shapeOf(schema) === null || !isGroup(below) || !isGroup(above)) return above;
  const merged = mapFields(schema, above, (field, value, name) => over(field, below[name], value));
  return { ...below, ...merged };
}

/** The group with `change` applied to each value that is a field of the schema. */
function mapFields(
  schema: z.ZodType,
  group: Settings,
  change: (field: z.ZodType, value: unknown, name: string) => unknown,
): Settings {
  const shape = shapeOf(schema) ?? {};
  const entries = Object.entries(group).map(([name, value]) => {
    const field = shape[name];
    return [name, field === undefined ? value : change(field, value, name)];
  });
  return Object.fromEntries(entries);
}

/** Settings under one name. */
export function isGroup(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A schema's description, even if it was given another default since. */
function aboutOf(schema: z.ZodType): string {
  return layersOf(schema).find(({ description }) => description !== undefined)?.description ?? '';
}

/** The marks of `mayChange` and `placeSetting`. */
function marksOf(schema: z.ZodType): Pick<KnownSetting, 'live' | 'idle' | 'place'> {
  for (const layer of layersOf(schema)) {
    const { place, live, idle } = (layer.meta() ?? {}) as Partial<KnownSetting>;
    if (place === true) return { place };
    if (live === true) return { live, ...(idle && { idle }) };
  }
  return {};
}

/** The values of an enumeration. */
function choicesOf(schema: z.ZodType): readonly string[] {
  return Object.values(coreOf(schema).entries ?? {}).map(String);
}

/** The fields of an object; null if it is not an object. */
function shapeOf(schema: z.ZodType): Readonly<Record<string, z.ZodType>> | null {
  return coreOf(schema).shape ?? null;
}

/** What every zod schema exposes, whichever copy of zod made it. */
interface Definition {
  readonly type: string;
  /** Of an object. */
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  /** Of an enumeration. */
  readonly entries?: Readonly<Record<string, string | number>>;
  /** Of an optional, a default and the like. */
  readonly innerType?: z.ZodType;
  readonly defaultValue?: unknown;
  /** Of a pipe: a transformation of a value, or a preparation of what is given. */
  readonly in?: z.ZodType;
  readonly out?: z.ZodType;
}

function definitionOf(schema: z.ZodType): Definition {
  return schema.def as unknown as Definition;
}

/** A schema and what it wraps, outermost first. */
function layersOf(schema: z.ZodType): readonly z.ZodType[] {
  const { type, innerType, in: given, out } = definitionOf(schema);
  const piped = given?.def.type === 'transform' ? out : given;
  const inner = type === 'pipe' ? piped : innerType;
  return inner === undefined ? [schema] : [schema, ...layersOf(inner)];
}

/** The definition of what all layers wrap. */
function coreOf(schema: z.ZodType): Definition {
  return definitionOf(layersOf(schema).at(-1)!);
}
