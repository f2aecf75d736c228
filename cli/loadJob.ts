/**
 * A job from its file. TypeScript is loaded as it is, through tsx, once per process: what the job imports
 * and what runs it are the same modules.
 */
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MillraceError, messageOf } from '../base/errors.ts';
import type { Job } from '../jobs/defineJob.ts';

const endings = ['.ts', '.mts', '.js', '.mjs'];

/** Fails with code `JOB` when there is no job in the file; the message says what to do. */
export async function loadJob(file: string, cwd: string): Promise<Job> {
  const path = resolve(cwd, file);
  const entry = await stat(path).catch(() => null);
  if (entry === null || !entry.isFile()) {
    throw new MillraceError('JOB', `there is no job file ${path}; check the path`);
  }
  if (!endings.includes(extname(path))) {
    throw new MillraceError(
      'JOB',
      `${path} is no job file; its name must end in ${endings.join(', ')}`,
    );
  }
  await checkKindOfModule(path);
  const module = await imported(path);
  const job = module.default;
  if (isJob(job)) return job;
  const advice = 'end the file with `export default defineJob({ name, about, settings, build })`';
  throw new MillraceError('JOB', `${path} exports no job; ${advice}`, { context: { path } });
}

/** `.ts` and `.js` are modules only where a package.json says so; Node would read them as CommonJS. */
async function checkKindOfModule(path: string): Promise<void> {
  if (path.endsWith('.mts') || path.endsWith('.mjs')) return;
  const file = await nearestPackage(dirname(path));
  const text = file === null ? '{}' : await readFile(file, 'utf8');
  if ((JSON.parse(text) as { type?: string }).type === 'module') return;
  const name = basename(path).replace(/\.([tj]s)$/, '.m$1');
  throw new MillraceError(
    'JOB',
    `${path} is not read as a module: name it ${name}, or put "type": "module" into ${file ?? 'a package.json beside it'}`,
  );
}

async function nearestPackage(folder: string): Promise<string | null> {
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
    const stack = cause instanceof Error ? (cause.stack ?? cause.message) : messageOf(cause);
    throw new MillraceError('JOB', `${path} cannot be loaded: ${stack}`, {
      context: { path },
      cause,
    });
  }
}

function isJob(value: unknown): value is Job {
  if (typeof value !== 'object' || value === null) return false;
  const { name, about, settings, build } = value as Partial<Job>;
  const named = typeof name === 'string' && typeof about === 'string';
  const checks = typeof (settings as { safeParse?: unknown } | undefined)?.safeParse === 'function';
  return named && checks && typeof build === 'function';
}
