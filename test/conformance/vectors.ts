/**
 * Vector files: inputs and the values that the published implementation returned for them.
 *
 * `{subject, about, mode, tolerance, cases: [{id, args, expect}]}`. Not-finite numbers are the strings
 * "Infinity", "-Infinity" and "NaN"; `{"throws": true}` = an error was raised; null = nothing came back.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface VectorCase {
  readonly id: string;
  readonly args: unknown;
  readonly expect: unknown;
}

export interface VectorFile {
  readonly subject: string;
  readonly about: string;
  readonly tolerance: number;
  readonly cases: readonly VectorCase[];
  /** Extra data of some subjects (model weights, say). */
  readonly models?: unknown;
}

/** The JSON files that the given files and folders name, folders in order of name. */
export async function listVectorFiles(paths: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const there = await stat(path).catch(() => null);
    if (there === null) throw new Error(`${path}: there is no such file or folder of vectors`);
    if (there.isFile()) files.push(path);
    else {
      const names = (await readdir(path)).filter((name) => name.endsWith('.json'));
      files.push(...names.sort().map((name) => join(path, name)));
    }
  }
  return files;
}

function parsed(path: string, text: string): VectorFile {
  try {
    return JSON.parse(text) as VectorFile;
  } catch (error) {
    throw new Error(`${path} is no vector file: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * One vector file; throws with its name when it is not one. Model weights may be in `model-forward.json`
 * beside it.
 */
export async function readVectorFile(path: string): Promise<VectorFile> {
  const file = parsed(path, await readFile(path, 'utf8'));
  if (typeof file?.subject !== 'string' || !Array.isArray(file.cases)) {
    throw new Error(`${path} is no vector file: it needs "subject" and "cases"`);
  }
  if (file.subject !== 'model-train' || file.models !== undefined) return file;
  const { models } = await readVectorFile(join(dirname(path), 'model-forward.json'));
  return { ...file, models };
}
