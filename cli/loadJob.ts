/**
 * Loads a job by name (one that comes with the package) or from its file. tsx loads TypeScript as it is,
 * once per process, so that what the job imports and what runs it are the same modules.
 */
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { copies, MillraceError, messageOf } from '../base/index.ts';
import type { Job } from '../jobs/index.ts';
import { packageFolder } from './exampleJobs.ts';
import { loadingError } from './loadingError.ts';
import { nearest } from './nearest.ts';
import { readyJob, readyJobs } from './readyJobs.ts';

const endings = ['.ts', '.mts', '.js', '.mjs'];

/** The path of a job: a ready job's in the package, any other's under `cwd`. */
export function jobPath(name: string, cwd: string): string {
  const ready = readyJob(name);
  return ready === null ? resolve(cwd, name) : join(packageFolder, ready.source);
}

/**
 * The job of this name, or in this file. Fails with code `JOB` if there is none; the message says what to do.
 */
export async function loadJob(name: string, cwd: string): Promise<Job> {
  const ready = readyJob(name)?.job;
  if (ready) return ready;
  const path = jobPath(name, cwd);
  const entry = await stat(path).catch(() => null);
  if (entry === null || !entry.isFile()) throw noJob(name, path);
  if (!endings.includes(extname(path))) {
    throw new MillraceError(
      'JOB',
      `${path} is not a job file; its name must end in ${endings.join(', ')}`,
    );
  }
  await mustNotBeOfRun(path);
  await checkKindOfModule(path);
  const module = await imported(path);
  mustBeOne(path);
  const job = module.default;
  if (isJob(job)) return job;
  const advice = 'end the file with `export default defineJob({ name, about, settings, build })`';
  throw new MillraceError('JOB', `${path} exports no job; ${advice}`, { context: { path } });
}

/** The contents of a run's folder are data: it may have been unpacked there. */
async function mustNotBeOfRun(path: string): Promise<void> {
  for (let folder = dirname(await realpath(path)); ; folder = dirname(folder)) {
    const isRun = await stat(join(folder, 'run.json')).then(
      (entry) => entry.isFile(),
      () => false,
    );
    if (isRun) {
      throw new MillraceError(
        'JOB',
        `${path} is in the folder of a run (${folder}), where nothing is executed: read it, then copy it elsewhere`,
        { context: { path } },
      );
    }
    if (dirname(folder) === folder) return;
  }
}

function noJob(name: string, path: string): MillraceError {
  const names = readyJobs.map((job) => job.name);
  if (/[/\\]/.test(name) || endings.includes(extname(name))) {
    return new MillraceError('JOB', `no job file at ${path}; check the path`);
  }
  const meant = nearest(name, names);
  return new MillraceError(
    'JOB',
    `no job ${name}${meant === null ? '' : `; did you mean ${meant}?`}\n` +
      `ready jobs: ${names.join(', ')} (millrace run --list); or give the path of a job file`,
  );
}

/** `.ts` and `.js` are modules only if a package.json says so; Node would read them as CommonJS. */
async function checkKindOfModule(path: string): Promise<void> {
  if (path.endsWith('.mts') || path.endsWith('.mjs')) return;
  const file = await nearestPackage(dirname(path));
  const text = file === null ? '{}' : await readFile(file, 'utf8');
  if (typeIn(text, file) === 'module') return;
  const name = basename(path).replace(/\.([tj]s)$/, '.m$1');
  throw new MillraceError(
    'JOB',
    `Node.js would not read ${path} as a module: rename it to ${name}, or put "type": "module" into ${file ?? 'a package.json beside it'}`,
  );
}

function typeIn(text: string, file: string | null): string | undefined {
  try {
    return (JSON.parse(text) as { type?: string } | null)?.type;
  } catch (cause) {
    throw new MillraceError('JOB', `${file} is not valid JSON: ${messageOf(cause)}`, { cause });
  }
}

/** The path of the package.json in this folder, or else in the next one above it that has one. */
export async function nearestPackage(folder: string): Promise<string | null> {
  const file = join(folder, 'package.json');
  if ((await stat(file).catch(() => null)) !== null) return file;
  const parent = dirname(folder);
  return parent === folder ? null : nearestPackage(parent);
}

async function imported(path: string): Promise<{ readonly default?: unknown }> {
  // From source, a loader runs already; a second one would load every module twice.
  if (import.meta.url.endsWith('.js')) (await import('tsx/esm/api')).register();
  try {
    return (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    throw new MillraceError('JOB', loadingError(path, cause), { context: { path }, cause });
  }
}

/** A job's parts must come from the same copy that runs it. */
function mustBeOne(path: string): void {
  const { own, others } = copies();
  if (others.length === 0) return;
  throw new MillraceError(
    'JOB',
    `${path} imports a different copy of millrace (${others.join(', ')}) from the one that runs it (${own}), and the two do not work together: import from 'millrace', and run npx millrace in the same folder`,
    { context: { path } },
  );
}

function isJob(value: unknown): value is Job {
  if (typeof value !== 'object' || value === null) return false;
  const { name, about, settings, build } = value as Partial<Job>;
  const named = typeof name === 'string' && typeof about === 'string';
  const checks = typeof (settings as { safeParse?: unknown } | undefined)?.safeParse === 'function';
  return named && checks && typeof build === 'function';
}
