/**
 * `millrace init JOB FOLDER`: copies the source of a ready job as `job.ts` into the user's folder, with the
 * settings that one changes first next to it. On a terminal it asks for those that the job needs.
 *
 * It is the file that `millrace run JOB` runs, except that it imports from `millrace/jobs`, as a user's
 * project does. Nothing is overwritten, and the copy runs where it is: it gets a package.json that makes it a
 * module if none above does.
 */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { makeFolder } from '../../base/index.ts';
import { packageFolder } from '../exampleJobs.ts';
import { exitCodes, usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { listJobs } from '../listJobs.ts';
import { loadJob, nearestPackage } from '../loadJob.ts';
import { nearest } from '../nearest.ts';
import { readyJob, readyJobs } from '../readyJobs.ts';
import { version } from '../version.ts';
import { starterSettings } from './starter.ts';

/** What a job starts with, if given. */
export interface Begun {
  readonly policy?: string;
  readonly questions?: string;
  readonly tools?: string;
}

export async function initJob(
  name: string | undefined,
  folder: string | undefined,
  flags: Begun,
  io: Io,
): Promise<number> {
  if (name === undefined) return listJobs(io);
  const { source, beside } = copied(name);
  const { settings } = await loadJob(name, io.cwd);
  const at = folder ?? name;
  const to = resolve(io.cwd, at);
  const inPackage = (file: string) => readFile(join(packageFolder, dirname(source), file), 'utf8');
  const path = relative(io.cwd, join(to, 'job.ts'));
  const title = `uncomment a line to change it; npx millrace run ${path} --show-settings lists all settings`;
  await mustBeFree(join(to, 'job.ts'));
  const needed = !settings.safeParse({}).success;
  const begun = needed ? await askedFor(flags, io) : flags;
  const ownPackage = await packageFor(to, at);
  const files: Readonly<Record<string, string>> = {
    'job.ts': asUsers(await inPackage(basename(source))),
    ...Object.fromEntries(
      await Promise.all(beside.map(async (file) => [file, await inPackage(file)])),
    ),
    'settings.yaml': starterSettings(settings, { ...begun }, title),
    ...(ownPackage === null ? {} : { 'package.json': ownPackage.text }),
  };
  await makeFolder(to);
  for (const file of Object.keys(files)) await mustBeFree(join(to, file));
  for (const [file, content] of Object.entries(files)) await writeFile(join(to, file), content);
  const missing = needed
    ? [
        begun.policy === undefined ? ' --set policy=FOLDER' : '',
        begun.questions === undefined ? ' --set questions=FILE' : '',
      ].join('')
    : '';
  await io.out(`wrote ${Object.keys(files).join(', ')} in ${to}\n`);
  io.err(
    `${ownPackage?.installs === true ? `install with: (cd ${at} && npm install)\n` : ''}` +
      `try one question: npx millrace try ${path} --settings ${join(dirname(path), 'settings.yaml')}${missing}\n` +
      `run it with: npx millrace run ${path} --settings ${join(dirname(path), 'settings.yaml')}${missing}`,
  );
  return exitCodes.done;
}

function copied(name: string): { readonly source: string; readonly beside: readonly string[] } {
  const ready = readyJob(name);
  if (ready !== null && ready.beside !== null)
    return { source: ready.source, beside: ready.beside };
  const names = readyJobs.flatMap(({ name: one, beside }) => (beside === null ? [] : [one]));
  const meant = nearest(name, names);
  const why =
    ready === null
      ? `no ready job ${name}${meant === null ? '' : `; did you mean ${meant}?`}`
      : `${name} is more than one file and cannot be copied; its source is ${join(packageFolder, dirname(ready.source))}`;
  throw usageError(`${why}\njobs that can be copied: ${names.join(', ')}`);
}

const QUESTIONS: readonly (readonly [keyof Begun, string])[] = [
  ['policy', 'Policy to train (a Hugging Face folder, or runs/NAME)'],
  ['questions', 'Questions (a file: CSV, JSON Lines, JSON or Parquet)'],
  ['tools', 'Tools, comma-separated (python, search, …)'],
];

/** Asks the user, on a terminal, for what no flag says; Enter leaves a setting open. */
async function askedFor(flags: Begun, io: Io): Promise<Begun> {
  const { ask } = io;
  if (ask === undefined) return flags;
  const answers: Record<string, string> = {};
  for (const [name, text] of QUESTIONS) {
    if (flags[name] !== undefined) continue;
    const answer = (await ask(`${text}; Enter to decide later: `)).trim();
    if (answer !== '') answers[name] = answer;
  }
  return { ...answers, ...flags };
}

/** How a ready job, in its place here, imports `millrace/jobs`. */
const PUBLIC_NAMES = '../../api/jobs.ts';

/** A ready job imports nothing from this package except from `millrace/jobs`. */
function asUsers(source: string): string {
  return source.replaceAll(`from '${PUBLIC_NAMES}'`, "from 'millrace/jobs'");
}

/**
 * The package.json that the folder needs, and whether something must be installed with it; null = the one
 * above will do.
 */
async function packageFor(
  folder: string,
  at: string,
): Promise<{ readonly text: string; readonly installs: boolean } | null> {
  const file = await nearestPackage(folder);
  if (file === null) return { text: jsonText(projectPackage(at)), installs: !isInstalled(folder) };
  const { type } = JSON.parse(await readFile(file, 'utf8')) as { readonly type?: string };
  if (type === 'module') return null;
  if (dirname(file) !== folder) {
    return { text: jsonText({ private: true, type: 'module' }), installs: false };
  }
  throw usageError(`${file} does not say "type": "module": add that first`);
}

/** Whether a job in this folder already finds the package, as in the image. */
function isInstalled(folder: string): boolean {
  try {
    createRequire(join(folder, 'job.js')).resolve('millrace/package.json');
    return true;
  } catch {
    return false;
  }
}

function projectPackage(folder: string): object {
  const name =
    folder
      .replace(/[^a-z0-9-]+/gi, '-')
      .replace(/^-+|-+$/g, '')
      .toLowerCase() || 'job';
  return {
    name,
    private: true,
    type: 'module',
    scripts: { start: 'millrace run job.ts --settings settings.yaml' },
    dependencies: { millrace: `^${version}`, zod: '^4' },
  };
}

function jsonText(content: object): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}

async function mustBeFree(path: string): Promise<void> {
  if ((await stat(path).catch(() => null)) === null) return;
  throw usageError(`${path} already exists; choose another folder`);
}
