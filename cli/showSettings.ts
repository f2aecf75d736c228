/**
 * `--show-settings`: every setting of a job as it would run, with where its value came from, as YAML or JSON that
 * `--settings` reads back.
 *
 * A setting that the job needs and nobody has given is there too, as a comment.
 */
import type { z } from 'zod';
import { checkSettings, groupsOf, lastGiven, type Setting, type Settings } from './settings.ts';

/** How it is written. `sketch` = as YAML in which nothing is set: every line is a comment, to be taken up. */
export type ShownAs = 'yaml' | 'json' | 'sketch';

/** The settings of a job, for people: `title` is the first line. Fails with code `USAGE` when one that is given is wrong. */
export function showSettings(
  schema: z.ZodType,
  given: readonly Setting[],
  { title, as }: { readonly title: string; readonly as: ShownAs },
): string {
  const shown = { settings: completed(schema, given), origin: originOf(given) };
  if (as === 'json') return `${json(schema, shown)}\n`;
  const text = yaml(schema, shown);
  const lines = as === 'sketch' ? text.replaceAll(/^(?!#)/gm, '# ') : text;
  return `# ${title}\n${lines}\n`;
}

interface Shown {
  readonly settings: Settings;
  readonly origin: (key: string) => string;
}

/** With the defaults; where the job cannot run yet because something is not given, as far as there are any. */
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

/** Stands for a text that is needed and not given. */
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

function yaml(schema: z.ZodType, { settings, origin }: Shown): string {
  const rows: (readonly [string, string])[] = [];
  const write = (group: ReturnType<typeof groupsOf>, values: Settings, indent: string): void => {
    for (const { name, key, about, inner } of group) {
      const value = values[name];
      if (inner.length > 0 && value !== undefined) {
        rows.push([`${indent}${name}:`, '']);
        write(inner, value as Settings, `${indent}  `);
      } else if (value === undefined) rows.push([`${indent}# ${name}:`, about]);
      else {
        const said = [origin(key), ...(about === '' ? [] : [about])].join(' · ');
        rows.push([`${indent}${name}: ${scalar(value)}`, said]);
      }
    }
  };
  write(groupsOf(schema), settings, '');
  const width = Math.min(44, Math.max(...rows.map(([text]) => text.length)));
  return rows
    .map(([text, said]) => (said === '' ? text : `${text.padEnd(width)}  # ${said}`))
    .join('\n');
}

/** A value on one line. JSON is YAML; a plain word needs no quotes. */
function scalar(value: unknown): string {
  if (typeof value === 'string' && /^[A-Za-z][\w./@-]*$/.test(value) && !reserved.test(value)) {
    return value;
  }
  return JSON.stringify(value);
}

/** Words that some reader of YAML takes for something else than text. */
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
