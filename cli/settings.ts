/**
 * Settings: `--set key=value`, or the values of a preset or a settings file, checked by the job's own zod
 * schema.
 *
 * Later ones override earlier ones, key by key. A value on the command line is JSON if it parses as JSON, and
 * text otherwise or if the setting takes only text. Dotted keys reach into groups of settings. Every error
 * names the path and where it was given, and for an unknown key the one that was probably meant.
 */
import type { z } from 'zod';
import { usageError } from './failure.ts';
import { didYouMean, nearestNames } from './nearest.ts';
import { isGroup, knownSettings, overDefaults, type Settings } from './settingFields.ts';

export interface Setting {
  /** As given, including dots. */
  readonly key: string;
  readonly path: readonly string[];
  /** As given. */
  readonly text: string;
  /** The value itself, if `text` need not be parsed. */
  readonly value?: unknown;
  /** Where it was given, for people: `preset et-agent-7b`, `my.yaml:3`; left out = on the command line. */
  readonly from?: string;
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

/**
 * A tree of settings (a preset, a file) as single ones: each value by the key of the schema that it sets, so
 * that a later one replaces a key and not a whole group.
 */
export function settingsOf(
  schema: z.ZodType,
  tree: Settings,
  from: (path: readonly string[]) => string,
): Setting[] {
  const leaves = new Set(knownSettings(schema).map(({ key }) => key));
  const flat = (value: unknown, path: readonly string[]): Setting[] => {
    const key = path.join('.');
    if (path.includes('__proto__')) throw usageError(`${from(path)}: ${key} is not a setting`);
    if (!isGroup(value) || leaves.has(key)) {
      return [{ key, path, text: JSON.stringify(value) ?? '', value, from: from(path) }];
    }
    return Object.entries(value).flatMap(([name, inner]) => flat(inner, [...path, name]));
  };
  return flat(tree, []).filter(({ key }) => key !== '');
}

/** `--set loss={"clip":0.1}` is `--set loss.clip=0.1`: a group given as JSON is merged key by key. */
function singly(schema: z.ZodType, given: readonly Setting[]): Setting[] {
  const ofGroup = shortly(schema);
  return given.flatMap((setting) => {
    const { key, path, text } = setting;
    if ('value' in setting || !text.startsWith('{')) return [ofGroup(setting)];
    const tree = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), jsonOrText(text));
    const found = settingsOf(schema, tree as Settings, () => '');
    const isWhole = found.some((one) => one.key === key) || found.length === 0;
    return isWhole ? [setting] : found.map(({ from: _, ...one }) => one);
  });
}

/**
 * A group with a setting `use` may be given as just that: `tools=python,search` is `tools.use=python,search`.
 */
function shortly(schema: z.ZodType): (setting: Setting) => Setting {
  const known = new Set(knownSettings(schema).map(({ key }) => key));
  return (setting) => {
    const { key, path } = setting;
    if (known.has(key) || !known.has(`${key}.use`)) return setting;
    return { ...setting, key: `${key}.use`, path: [...path, 'use'] };
  };
}

/**
 * The complete settings: `base` with `given` over it, defaults filled in. Fails with code `USAGE`; `help`
 * ends what it then says, in lines, for a command that has no `--show-settings`.
 */
export function checkSettings(
  schema: z.ZodType,
  all: readonly Setting[],
  base: Settings = {},
  help?: readonly string[],
): Settings {
  const given = singly(schema, all);
  const known = knownSettings(schema).map(({ key }) => key);
  const unknown = given.filter(({ key }) => known.length > 0 && !isKnown(key, known));
  if (unknown.length > 0) throw usageError(complaint(unknown.map(unknownKey(known)), known, help));
  const parsed = (asText: (setting: Setting) => boolean) =>
    schema.safeParse(overDefaults(schema, overlay(base, given, asText)));
  let result = parsed(() => false);
  if (!result.success) {
    const asText = new Set(textWanted(result.error));
    result = parsed(({ key }) => asText.has(key));
  }
  if (result.success) return result.data as Settings;
  const lines = result.error.issues.map(({ path, message }) => {
    const key = path.join('.');
    const setting = lastGiven(given, key);
    return `${key === '' ? 'settings' : key}: ${message}${setting === undefined ? '' : ` (${givenAs(setting)})`}`;
  });
  throw usageError(complaint(lines, known, help));
}

/** Where commands without `--show-settings` send users who look for a job's settings. */
export function listedBy(program: string, jobFile: string): string {
  return `for the meaning of each setting: ${program} run ${jobFile} --show-settings`;
}

/** A leaf, a group of leaves (whose value is then JSON), or a part of a leaf that is not a plain value. */
function isKnown(key: string, known: readonly string[]): boolean {
  return known.some(
    (name) => name === key || name.startsWith(`${key}.`) || key.startsWith(`${name}.`),
  );
}

function unknownKey(known: readonly string[]): (setting: Setting) => string {
  return ({ key, from }) => {
    const where = from === undefined ? '' : ` (${from})`;
    return `${key}: no such setting${didYouMean(meantBy(key, known))}${where}`;
  };
}

/** How many settings to suggest for an unknown one. */
const offeredMax = 3;

/** Settings with similar names, then those of a group with a similar name: `engine.urls` for `urls`. */
function meantBy(key: string, known: readonly string[]): string[] {
  const own = (dotted: string): string => dotted.slice(dotted.lastIndexOf('.') + 1);
  const names = nearestNames(own(key), [...new Set(known.map(own))]);
  const inGroups = names.flatMap((name) => known.filter((other) => own(other) === name));
  const all = [...new Set([...nearestNames(key, known), ...inGroups])];
  return all.slice(0, offeredMax);
}

/** The last of those that set a key, or a group that contains it. */
export function lastGiven(given: readonly Setting[], key: string): Setting | undefined {
  const within = ({ key: group, text }: Setting): boolean =>
    /^[[{]/.test(text) ? key.startsWith(`${group}.`) : key === `${group}.use`;
  return given.findLast((setting) => key === setting.key || within(setting));
}

function givenAs({ text, from }: Setting): string {
  return from === undefined ? `given: ${text}` : `${from}, given: ${text}`;
}

/** A longer list of names is not shown. */
const listedMax = 12;

function complaint(
  lines: readonly string[],
  known: readonly string[],
  help = helpOfRun(known),
): string {
  return ['invalid settings:', ...lines.map((line) => `  ${line}`), ...help].join('\n');
}

function helpOfRun(known: readonly string[]): readonly string[] {
  if (known.length === 0) return [];
  if (known.length <= listedMax) return [`settings of this job: ${known.join(', ')}`];
  return [
    `the job has ${known.length} settings; to see their meanings and defaults, use --show-settings instead of --set`,
  ];
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
    groupOf(settings, setting)[setting.path.at(-1)!] = givenValue(setting, asText(setting));
  }
  return settings;
}

function groupOf(settings: Record<string, unknown>, { path }: Setting): Record<string, unknown> {
  let group = settings;
  for (const part of path.slice(0, -1)) {
    const inner = group[part];
    // A run of an older version has only the list (`shortly`).
    if (!isGroup(inner)) group[part] = Array.isArray(inner) ? { use: inner } : {};
    group = group[part] as Record<string, unknown>;
  }
  return group;
}

function givenValue(setting: Setting, asText: boolean): unknown {
  if ('value' in setting) return setting.value;
  return asText ? setting.text : jsonOrText(setting.text);
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
