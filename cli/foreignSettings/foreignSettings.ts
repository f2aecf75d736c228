/**
 * `--settings FORM:FILE`: another trainer's file as our settings. Reports what our settings cannot express.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import type { Setting } from '../settings.ts';
import { settingsTree } from '../settingsFile.ts';
import { llamaFactory } from './llamaFactory.ts';
import { type Dictionary, type Theirs, translated } from './translated.ts';
import { overridesIn, verl } from './verl.ts';

interface Form {
  readonly dictionary: Dictionary;
  read(text: string, file: string): Theirs;
}

const forms: Readonly<Record<string, Form>> = {
  llamafactory: {
    dictionary: llamaFactory,
    read: (text, file) => new Map(Object.entries(settingsTree(text, file))),
  },
  verl: { dictionary: verl, read: (text) => overridesIn(text) },
};
/** As in our own settings files. */
const CHARACTERS_MAX = 100_000;

/** The form named before the first colon; a drive letter or a path is not one. */
export function isForeign(given: string): boolean {
  return Object.hasOwn(forms, given.split(':', 1)[0]!) && given.includes(':');
}

/** Fails with `USAGE`, naming file and key. */
export async function foreignSettings(
  given: string,
  schema: z.ZodType,
  io: Io,
): Promise<Setting[]> {
  const colon = given.indexOf(':');
  const form = forms[given.slice(0, colon)]!;
  const file = given.slice(colon + 1);
  const text = file === '-' ? await standardInput() : await fileText(file, io);
  if (text.length > CHARACTERS_MAX) throw usageError(`${file} is too long for a settings file`);
  const { settings, unused } = translated(form.read(text, file), form.dictionary, { file, schema });
  io.err(`${file}: ${settings.length} settings`);
  if (unused.length > 0) io.err(`${file}: not used: ${unused.join(', ')}`);
  return [...settings];
}

function fileText(file: string, io: Io): Promise<string> {
  return readFile(resolve(io.cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usageError(`cannot read the settings file ${file} (${error.code}); check the path`);
  });
}

async function standardInput(): Promise<string> {
  let text = '';
  for await (const piece of process.stdin.setEncoding('utf8')) {
    text += String(piece);
    if (text.length > CHARACTERS_MAX) break;
  }
  return text;
}
