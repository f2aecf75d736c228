/**
 * API-Bank's functions as released (DeepAgent §4.2): a folder of Python files, one class each, and a folder
 * `init_database` of JSON beside it. They run in the Python tool, which cannot reach anything on this
 * machine.
 *
 * The classes change the databases: an alarm once set appears in later queries. Each rollout has databases of
 * its own, in their initial state; a call runs after those that its rollout made before, in one program, so
 * the sandbox need not keep anything alive. (As released, all questions share one state.)
 */
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { ToolDoc } from '../../../base/functions/index.ts';
import { MillraceError, messageOf, systemCode } from '../../../base/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import { isErrorResponse } from '../../tools/errorResponse.ts';
import type { Tool, ToolResult } from '../../tools/tool.ts';
import { classesProgram, runProgram } from './apiBankPrograms.ts';
import { functionOf } from './readLibrary.ts';

/** The classes and the databases. */
export interface ApiBank {
  readonly docs: readonly ToolDoc[];
  /** Python by file name, without `.py`. */
  readonly files: Readonly<Record<string, string>>;
  /** The file of each function. */
  readonly homes: ReadonlyMap<string, string>;
  /** JSON by name. */
  readonly databases: Readonly<Record<string, unknown>>;
}

const FILES_MAX = 1_000;
/** Limit of a rollout's calls that are repeated; an episode has no more. */
const CALLS_MAX = 1_000;

const described = z.array(
  z.object({
    name: z.string(),
    description: z.string().default(''),
    parameters: z.record(
      z.string(),
      z.object({ type: z.string().default('str'), description: z.string().default('') }),
    ),
    required: z.array(z.string()),
  }),
);

/** Whether a library is such a folder. */
export async function isApiBank(path: string): Promise<boolean> {
  const names = await readdir(path).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return [];
    throw error;
  });
  return names.some((name) => name.endsWith('.py'));
}

/** Reads the folder; `python` reads the classes, without running them. Rejects with code `TOOL_LIBRARY`. */
export async function readApiBank(folder: string, python: Tool): Promise<ApiBank> {
  const files = await textsIn(folder, '.py', folder);
  const beside = [join(folder, 'init_database'), join(dirname(folder), 'init_database')];
  const databases: Record<string, unknown> = {};
  for (const place of beside) {
    for (const [name, text] of Object.entries(await textsIn(place, '.json', folder))) {
      const value = jsonIn(text);
      if (value === undefined) throw wrong(folder, `${join(place, name)}.json is not JSON`);
      databases[name] ??= value;
    }
  }
  const docs = new Map<string, ToolDoc>();
  const homes = new Map<string, string>();
  const { signal } = new AbortController();
  for (const [home, source] of Object.entries(files)) {
    const { output, ok } = await python.run(classesProgram(source), signal);
    const read = described.safeParse(jsonIn(output));
    if (!ok || !read.success) throw wrong(folder, `${home}.py cannot be read: ${output}`);
    for (const one of read.data) {
      docs.set(one.name, docOf(one, folder));
      homes.set(one.name, home);
    }
  }
  if (docs.size === 0)
    throw wrong(folder, `has no class with "description" and "input_parameters"`);
  return { docs: [...docs.values()], files, homes, databases };
}

/** The functions as tools, which take their arguments as JSON; whoever opened `python` closes it. */
export function apiBankTools({ docs, ...bank }: ApiBank, python: Tool): readonly Tool[] {
  const made = new Map<string, { readonly name: string; readonly arguments: unknown }[]>();
  return docs.map(({ name, description: about, parameters }) => ({
    ...{ name, about, parameters },
    concurrencyMax: python.concurrencyMax,
    pure: false,
    async run(input, signal, { rolloutId = '' } = {}): Promise<ToolResult> {
      const before = made.get(rolloutId) ?? [];
      if (before.length >= CALLS_MAX) return { output: '{"error": "too many calls"}', ok: false };
      const calls = [...before, { name, arguments: jsonIn(input) ?? {} }];
      const program = runProgram({ ...bank, homes: Object.fromEntries(bank.homes), calls });
      const { output, ok } = await python.run(program, signal);
      if (!ok) return { output: JSON.stringify({ error: output }), ok: false };
      if (rolloutId !== '') made.set(rolloutId, calls);
      return { output, ok: !isErrorResponse(output) };
    },
    end: (rolloutId) => void made.delete(rolloutId),
    close: async () => undefined,
  }));
}

const TYPES: Readonly<Record<string, string>> = {
  int: 'integer',
  float: 'number',
  bool: 'boolean',
  list: 'array',
  dict: 'object',
};

function docOf(
  { name, description, parameters, required }: z.infer<typeof described>[number],
  folder: string,
): ToolDoc {
  const properties = Object.fromEntries(
    Object.entries(parameters).map(([key, { type, description: about }]) => [
      key,
      { type: TYPES[type.replace(/\W.*/, '').toLowerCase()] ?? 'string', description: about },
    ]),
  );
  const doc = functionOf({
    name,
    description,
    parameters: { type: 'object', properties, required },
  });
  if ('reason' in doc) throw wrong(folder, `the class ${name}: ${doc.field} ${doc.reason}`);
  return doc;
}

/** The files of a folder, by name, without the extension; empty if there is no such folder. */
async function textsIn(
  place: string,
  ending: string,
  folder: string,
): Promise<Record<string, string>> {
  try {
    const names = (await readdir(place)).filter((name) => name.endsWith(ending)).sort();
    if (names.length > FILES_MAX) throw wrong(folder, `has more than ${FILES_MAX} files`);
    const texts: Record<string, string> = {};
    for (const name of names)
      texts[basename(name, ending)] = await readFile(join(place, name), 'utf8');
    return texts;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return {};
    if (error instanceof MillraceError) throw error;
    throw wrong(folder, `cannot be read: ${messageOf(error)}`);
  }
}

function wrong(folder: string, why: string): MillraceError {
  return new MillraceError(
    'TOOL_LIBRARY',
    `${folder}: ${why} (a folder of Python is read as API-Bank’s classes, docs/deepagent.md)`,
    { context: { folder } },
  );
}
