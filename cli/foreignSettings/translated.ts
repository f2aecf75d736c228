/** The translation of another trainer's settings file: our settings, and what they cannot express. */
import type { z } from 'zod';
import { usageError } from '../failure.ts';
import { knownSettings } from '../settingFields.ts';
import type { Setting } from '../settings.ts';

/** One of their values, under their name. */
export type Theirs = ReadonlyMap<string, unknown>;

/** Our settings by key; null = it says nothing that ours can express. */
export type Translation = Readonly<Record<string, unknown>> | null;

/**
 * How to read one of their names, given all of them. Throws `Untranslated` for a value that we cannot
 * express.
 */
export type Translate = (value: unknown, all: Theirs) => Translation;

/** A value that would train something else if it were left out. */
export class Untranslated extends Error {}

/** Their names that do not affect what is learnt: files, logging, parallelism, memory. */
export type Quiet = (name: string) => boolean;

export interface Dictionary {
  /** What a file leaves to defaults: theirs where ours differ. */
  readonly always?: Readonly<Record<string, unknown>>;
  readonly names: Readonly<Record<string, Translate>>;
  readonly quiet: Quiet;
}

export interface Translated {
  readonly settings: readonly Setting[];
  /** Names that we cannot express, and why that may matter. */
  readonly unused: readonly string[];
}

/**
 * `file` is the file's name. Fails with `USAGE`, naming file and key, for a value that cannot be expressed,
 * and if nothing in the file applies to this job.
 */
export function translated(
  theirs: Theirs,
  { names, quiet, always = {} }: Dictionary,
  { file, schema }: { readonly file: string; readonly schema: z.ZodType },
): Translated {
  const known = new Set(knownSettings(schema).map(({ key }) => key));
  const found = new Map<string, Setting>();
  const unused: string[] = [];
  const add = (key: string, value: unknown, name: string): void => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    found.set(key, { key, path: key.split('.'), text, value, from: `${file}: ${name}` });
  };
  for (const [name, value] of theirs) {
    const translate = Object.hasOwn(names, name) ? names[name] : undefined;
    if (translate === undefined) {
      if (!quiet(name)) unused.push(name);
      continue;
    }
    for (const [key, own] of Object.entries(translation(translate, name, value, theirs, file))) {
      if (!known.has(key)) unused.push(`${name} (this job has no ${key})`);
      else add(key, own, name);
    }
  }
  if (found.size === 0) throw usageError(`${file}: nothing in it is a setting of this job`);
  for (const [key, value] of Object.entries(always))
    if (known.has(key) && !found.has(key)) add(key, value, 'its defaults');
  return { settings: [...found.values()], unused };
}

function translation(
  translate: Translate,
  name: string,
  value: unknown,
  theirs: Theirs,
  file: string,
): Readonly<Record<string, unknown>> {
  try {
    return translate(value, theirs) ?? {};
  } catch (error) {
    if (!(error instanceof Untranslated)) throw error;
    throw usageError(`${file}: ${name}: ${error.message}`);
  }
}

/** The value as a number. */
export function numberOf(value: unknown): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'number' && Number.isFinite(number)) return number;
  throw new Untranslated(`expected a number, found ${JSON.stringify(value)}`);
}

/** The value as a truth value. */
export function flagOf(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  if (/^(true|false)$/i.test(String(value))) return /^true$/i.test(String(value));
  throw new Untranslated(`expected true or false, found ${JSON.stringify(value)}`);
}

/** One of our numbers under this key. */
export function number(key: string, scale = 1): Translate {
  return (value) => ({ [key]: numberOf(value) * scale });
}

/** One of our texts under this key. */
export function text(key: string): Translate {
  return (value) => ({ [key]: String(value) });
}

/** One of these words; any other cannot be expressed. */
export function word(key: string, words: Readonly<Record<string, unknown>>): Translate {
  return (value) => {
    const own = Object.hasOwn(words, String(value)) ? words[String(value)] : undefined;
    if (own !== undefined) return { [key]: own };
    throw new Untranslated(
      `${String(value)} is not supported; supported: ${Object.keys(words).join(', ')}`,
    );
  };
}

/** We only do what this value says. */
export function only(value: unknown, instead: string): Translate {
  return (given) => {
    if (String(given).toLowerCase() === String(value).toLowerCase()) return null;
    throw new Untranslated(`${String(given)} is not supported: ${instead}`);
  };
}
