/**
 * The files that a run reads each time it starts: its questions, corpus, tokenizer and chat template.
 *
 * Guarantees: a run continues with the bytes that it began with. Their digests are kept in its folder
 * (`inputs.json`); when one has changed, the run is refused, because its records would no longer say what it
 * was made from.
 */
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { MillraceError, replaceFile, systemCode } from '../base/index.ts';
import { digestAt } from '../model/checkpoints/index.ts';

const FILE = 'inputs.json';
/** By path, relative to the run's folder if the file is in it. A missing file has ''. */
const digests = z.record(z.string(), z.string());

/** Files in a checkpoint's folder besides its weights, which have digests of their own. */
const TOKENIZER_FILES = [
  ...['tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json'],
  ...['chat_template.jinja', 'chat_template.json', 'generation_config.json'],
  join('additional_chat_templates', 'tool_use.jinja'),
];

/** Paths of the tokenizer and the chat template in a policy's folder, whether or not they exist. */
export function tokenizerFiles(folder: string): readonly string[] {
  return TOKENIZER_FILES.map((name) => join(folder, name));
}

/**
 * Notes the digests of `files` when the run begins, and compares them when it goes on. '' among them is
 * for no file.
 *
 * @param folder Of the run.
 * @throws MillraceError `INPUT_CHANGED` with the file's path and what to do; `DAMAGED` when `inputs.json`
 * cannot be read.
 */
export async function sameInputs(folder: string, files: readonly string[]): Promise<void> {
  const path = join(folder, FILE);
  const before = await noted(path);
  const now: Record<string, string> = { ...before };
  const all = await Promise.all(files.filter((each) => each !== '').map(within));
  for (const file of all.flat()) {
    const there = await stat(file).catch(ifThere);
    const digest = there?.isFile() === true ? await digestAt(file) : '';
    const name = nameIn(folder, file);
    const known = before[name];
    if (known !== undefined && known !== digest) throw changed(file, digest === '');
    now[name] = digest;
  }
  if (Object.keys(now).length === Object.keys(before).length) return;
  await mkdir(folder, { recursive: true });
  await replaceFile(path, `${JSON.stringify(now, null, 1)}\n`);
}

/** The tokenizer's folder that a run noted when it began; null if it noted none. */
export async function notedTokenizer(folder: string): Promise<string | null> {
  const found = Object.entries(await noted(join(folder, FILE))).find(
    ([name, digest]) => basename(name) === TOKENIZER_FILES[0] && digest !== '',
  );
  return found === undefined ? null : dirname(resolve(folder, found[0]));
}

/** For a folder, its files. */
async function within(path: string): Promise<readonly string[]> {
  const there = await stat(path).catch(ifThere);
  if (there?.isDirectory() !== true) return [path];
  return (await readdir(path)).sort().map((name) => join(path, name));
}

/** Null for a missing file; one that cannot be read is an error of its own. */
function ifThere(error: unknown): null {
  if (systemCode(error) === 'ENOENT') return null;
  throw error;
}

/** A run's folder may be moved. */
function nameIn(folder: string, file: string): string {
  const name = relative(folder, file);
  return name.startsWith('..') || isAbsolute(name) ? file : name;
}

async function noted(path: string): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(path, 'utf8').catch(ifThere);
  if (text === null) return {};
  try {
    return digests.parse(JSON.parse(text));
  } catch (cause) {
    throw new MillraceError(
      'DAMAGED',
      `cannot read ${path}, which records the run's inputs. Restore it, or delete it if you are sure that no input has changed`,
      { cause },
    );
  }
}

function changed(file: string, gone: boolean): MillraceError {
  return new MillraceError(
    'INPUT_CHANGED',
    `${file}, an input of this run, ${gone ? 'no longer exists' : 'has changed since it started'}: restore it, or start another run (--run NAME)`,
    { context: { file } },
  );
}
