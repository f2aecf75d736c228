/**
 * `--show-settings`: every setting of a job as it would run, with the origin of its value, its default,
 * allowed values and meaning, as YAML or JSON that `--settings` reads back.
 *
 * A required setting that was not given appears as a comment.
 */
import type { z } from 'zod';
import { hasCode } from '../base/index.ts';
import { colours, wrapped } from '../base/terminal/index.ts';
import { groupsOf, type Settings } from './settingFields.ts';
import { checkSettings, lastGiven, type Setting } from './settings.ts';

/** How it is written. */
export type ShownAs = 'yaml' | 'json';

export interface ShowOptions {
  /** The first line. */
  readonly title: string;
  readonly as: ShownAs;
  /** Characters per line (default 100); the rest continues below. */
  readonly columns?: number;
  /** Mutes what is not a value and highlights what was changed. */
  readonly colour?: boolean;
}

/** The settings of a job, for people. Fails with code `USAGE` if a given one is wrong. */
export function showSettings(
  schema: z.ZodType,
  given: readonly Setting[],
  { title, as, columns = 100, colour = false }: ShowOptions,
): string {
  const settings = completed(schema, given);
  const defaults = defaultsOf(schema);
  const shown = { settings, defaults, origin: originOf(given) };
  if (as === 'json') return `${json(schema, shown)}\n`;
  return `# ${title}\n${yaml(schema, shown, { columns, colour })}\n`;
}

interface Shown {
  readonly settings: Settings;
  readonly defaults: Settings;
  readonly origin: (key: string) => string;
}

/** The values used where nothing is given, if there are defaults; none if they do not fit together. */
export function defaultsOf(schema: z.ZodType): Settings {
  try {
    return completed(schema, []);
  } catch (error) {
    if (hasCode(error, 'USAGE')) return {};
    throw error;
  }
}

/** With the defaults; if the job cannot run yet because a value is missing, with as many as there are. */
function completed(schema: z.ZodType, given: readonly Setting[]): Settings {
  const checked = schema.safeParse({});
  const missing = checked.success ? [] : checked.error.issues.map(({ path }) => path.join('.'));
  const filler: Setting[] = missing
    .filter((key) => lastGiven(given, key) === undefined)
    .map((key) => ({ key, path: key.split('.'), text: '', value: NEEDED }));
  const settings = structuredClone(checkSettings(schema, [...filler, ...given]));
  for (const { path } of filler) remove(settings as Record<string, unknown>, path);
  return settings;
}

/** Stands for a required text that was not given. */
const NEEDED = '(needed)';

function remove(settings: Record<string, unknown>, path: readonly string[]): void {
  const group = path.slice(0, -1).reduce((at, name) => at[name] as typeof settings, settings);
  delete group[path.at(-1)!];
}

function originOf(given: readonly Setting[]): Shown['origin'] {
  return (key) => {
    const setting = lastGiven(given, key);
    return setting === undefined ? 'default' : (setting.from ?? '--set');
  };
}

/** A line of a setting, or the name of a group of them. */
interface Row {
  readonly text: string;
  readonly said: string;
  readonly changed: boolean;
}

function yaml(
  schema: z.ZodType,
  { settings, defaults, origin }: Shown,
  look: { readonly columns: number; readonly colour: boolean },
): string {
  const rows: Row[] = [];
  const write = (
    group: ReturnType<typeof groupsOf>,
    values: Settings,
    standard: Settings,
    indent: string,
  ): void => {
    for (const { name, key, about, choices, inner } of group) {
      const value = values[name];
      if (inner.length > 0 && value !== undefined) {
        rows.push({ text: `${indent}${name}:`, said: about, changed: false });
        write(inner, value as Settings, (standard[name] ?? {}) as Settings, `${indent}  `);
        continue;
      }
      const from = value === undefined ? 'needed' : origin(key);
      const changed = value !== undefined && from !== 'default';
      const usual = standard[name];
      const said = [
        value === undefined ? '' : from,
        changed && usual !== undefined ? `default: ${scalar(usual)}` : '',
        about,
        choices.length === 0 ? '' : `one of ${choices.join(', ')}`,
      ];
      const text = value === undefined ? `# ${name}:` : `${name}: ${scalar(value)}`;
      rows.push({ text: indent + text, said: said.filter(Boolean).join(' · '), changed });
    }
  };
  write(groupsOf(schema), settings, defaults, '');
  return laidOut(rows, look);
}

/** Limit of characters before the comments; a longer setting still has its comment after it. */
const SETTING_MAX = 44;
/** Least width of a comment, however narrow the screen is. */
const COMMENT_MIN = 28;

/** Settings to the left, comments to the right of them, over as many lines as they need. */
function laidOut(
  rows: readonly Row[],
  { columns, colour }: { readonly columns: number; readonly colour: boolean },
): string {
  const { dim, bold } = colours(colour);
  const width = Math.min(SETTING_MAX, Math.max(...rows.map(({ text }) => text.length)));
  const lines = rows.flatMap(({ text, said, changed }) => {
    const room = Math.max(COMMENT_MIN, columns - Math.max(width, text.length) - 4);
    const [first = '', ...more] = wrapped(said, room);
    const shown = changed ? bold(text) : text;
    const padding = ' '.repeat(Math.max(0, width - text.length));
    return [
      first === '' ? shown : `${shown}${padding}  ${dim(`# ${first}`)}`,
      ...more.map((line) => `${' '.repeat(Math.max(width, text.length))}  ${dim(`# ${line}`)}`),
    ];
  });
  return lines.join('\n');
}

/** A value on one line. JSON is YAML; a plain word needs no quotes. */
export function scalar(value: unknown): string {
  if (typeof value === 'string' && /^[A-Za-z][\w./@-]*$/.test(value) && !reserved.test(value)) {
    return value;
  }
  return JSON.stringify(value);
}

/** Words that some YAML reader takes for something other than text. */
const reserved = /^(true|false|null|yes|no|on|off|y|n)$/i;

function json(schema: z.ZodType, { settings, origin }: Shown): string {
  const from: Record<string, string> = {};
  const note = (group: ReturnType<typeof groupsOf>): void => {
    for (const { key, inner } of group) {
      if (inner.length > 0) note(inner);
      else from[key] = origin(key);
    }
  };
  note(groupsOf(schema));
  return JSON.stringify({ ...settings, $from: from }, null, 2);
}
