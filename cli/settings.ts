/**
 * Settings from the command line: `--set key=value`, checked by the job's own zod schema.
 *
 * A value is JSON where it reads as JSON and text otherwise; text also where only text will do. Dotted
 * keys reach into groups of settings. Every complaint names the path, and an unknown key the one that was
 * probably meant.
 */
import type { z } from 'zod';
import { usageError } from './failure.ts';
import { nearest } from './nearest.ts';

export interface Setting {
  /** As given, dots included. */
  readonly key: string;
  readonly path: readonly string[];
  /** As given. */
  readonly text: string;
}

export type Settings = Readonly<Record<string, unknown>>;

/** One setting of a schema, for people. */
export interface KnownSetting {
  readonly key: string;
  readonly about: string;
}

/** Reads `key=value`. */
export function parseSetting(given: string): Setting {
  const equals = given.indexOf('=');
  const key = given.slice(0, Math.max(0, equals)).trim();
  const path = key.split('.');
  if (equals < 0 || path.some((part) => part === '' || part === '__proto__')) {
    throw usageError(`--set takes key=value, for example --set lr=0.0003; given: ${given}`);
  }
  return { key, path, text: given.slice(equals + 1) };
}

/** The complete settings: `base` with `given` over it, defaults filled in. Fails with code `USAGE`. */
export function checkSettings(
  schema: z.ZodType,
  given: readonly Setting[],
  base: Settings = {},
): Settings {
  const known = knownSettings(schema).map(({ key }) => key);
  const unknown = given.filter(({ key }) => known.length > 0 && !isKnown(key, known));
  if (unknown.length > 0) throw usageError(complaint(unknown.map(unknownKey(known)), known));
  let result = schema.safeParse(overlay(base, given, () => false));
  if (!result.success) {
    const asText = new Set(textWanted(result.error));
    result = schema.safeParse(overlay(base, given, ({ key }) => asText.has(key)));
  }
  if (result.success) return result.data as Settings;
  const lines = result.error.issues.map(({ path, message }) => {
    const key = path.join('.');
    const text = given.find((setting) => setting.key === key)?.text;
    return `${key === '' ? 'settings' : key}: ${message}${text === undefined ? '' : ` (given: ${text})`}`;
  });
  throw usageError(complaint(lines, known));
}

/** Every setting of a schema by its dotted key; empty when the schema is no object. */
export function knownSettings(schema: z.ZodType, prefix = ''): KnownSetting[] {
  const shape = shapeOf(schema);
  if (shape === null) return [];
  return Object.entries(shape).flatMap(([name, field]) => {
    const key = prefix + name;
    const inner = knownSettings(field, `${key}.`);
    return inner.length > 0 ? inner : [{ key, about: field.description ?? '' }];
  });
}

/** What every zod schema says of itself, whichever copy of zod made it. */
interface Definition {
  readonly type: string;
  readonly shape?: Record<string, z.ZodType>;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
}

/** The fields of an object, also where it is optional, has a default or is refined. */
function shapeOf(schema: z.ZodType): Record<string, z.ZodType> | null {
  const definition = schema.def as unknown as Definition;
  if (definition.type === 'object') return definition.shape ?? {};
  const inner = definition.innerType ?? (definition.type === 'pipe' ? definition.in : undefined);
  return inner === undefined ? null : shapeOf(inner);
}

/** A leaf, a group of leaves (its value is then JSON), or a part of a leaf that is no plain value. */
function isKnown(key: string, known: readonly string[]): boolean {
  return known.some(
    (name) => name === key || name.startsWith(`${key}.`) || key.startsWith(`${name}.`),
  );
}

function unknownKey(known: readonly string[]): (setting: Setting) => string {
  return ({ key }) => {
    const meant = nearest(key, known);
    return `${key}: there is no such setting${meant === null ? '' : `; did you mean ${meant}?`}`;
  };
}

function complaint(lines: readonly string[], known: readonly string[]): string {
  const allowed = known.length === 0 ? '' : `\nsettings of this job: ${known.join(', ')}`;
  return `settings are not right\n${lines.map((line) => `  ${line}`).join('\n')}${allowed}`;
}

function textWanted(error: z.ZodError): string[] {
  return error.issues.flatMap((issue) =>
    issue.code === 'invalid_type' && issue.expected === 'string' ? [issue.path.join('.')] : [],
  );
}

function overlay(
  base: Settings,
  given: readonly Setting[],
  asText: (setting: Setting) => boolean,
): Settings {
  const settings = structuredClone(base) as Record<string, unknown>;
  for (const setting of given) {
    const group = groupOf(settings, setting);
    group[setting.path.at(-1)!] = asText(setting) ? setting.text : jsonOrText(setting.text);
  }
  return settings;
}

function groupOf(settings: Record<string, unknown>, { path }: Setting): Record<string, unknown> {
  let group = settings;
  for (const part of path.slice(0, -1)) {
    const inner = group[part];
    const isGroup = typeof inner === 'object' && inner !== null;
    if (!isGroup) group[part] = {};
    group = group[part] as Record<string, unknown>;
  }
  return group;
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
