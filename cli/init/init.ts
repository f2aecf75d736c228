/**
 * `millrace init JOB FOLDER`: the source of a ready job as `job.ts` in a folder of the user's, with its settings beside it.
 *
 * It is the file that `millrace run JOB` runs; only what it imports is named as a user's project names it (`millrace/jobs`).
 * Nothing that is there is written over.
 */
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { Job } from '../../jobs/defineJob.ts';
import { exitCodes, usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { listJobs } from '../listJobs.ts';
import { nearest } from '../nearest.ts';
import { packageFolder, readyJob, readyJobs } from '../readyJobs.ts';
import { showSettings } from '../showSettings.ts';
import { version } from '../version.ts';

export async function initJob(
  name: string | undefined,
  folder: string | undefined,
  io: Io,
): Promise<number> {
  if (name === undefined) return listJobs(io);
  const { job, source } = copied(name);
  const at = folder ?? name;
  const to = resolve(io.cwd, at);
  const text = asUsers(await readFile(join(packageFolder, source), 'utf8'));
  const title = `what ${join(at, 'job.ts')} is run with: take the # from a line (and from that of its group) to set it`;
  const files: Readonly<Record<string, string>> = {
    'job.ts': text,
    'settings.yaml': showSettings(job.settings, [], { title, as: 'sketch' }),
    ...((await hasPackage(to)) ? {} : { 'package.json': packageText(at) }),
  };
  await mkdir(to, { recursive: true });
  for (const file of Object.keys(files)) await mustBeFree(join(to, file));
  for (const [file, content] of Object.entries(files)) await writeFile(join(to, file), content);
  const path = relative(io.cwd, join(to, 'job.ts'));
  await io.out(`wrote ${Object.keys(files).join(', ')} in ${to}\n`);
  io.err(
    `${'package.json' in files ? `install with: (cd ${at} && ONNXRUNTIME_NODE_INSTALL=skip npm install)\n` : ''}` +
      `run it with: npx millrace run ${path} --settings ${join(dirname(path), 'settings.yaml')} --set policy=FOLDER --set questions=FILE`,
  );
  return exitCodes.done;
}

function copied(name: string): { readonly job: Job; readonly source: string } {
  const ready = readyJob(name);
  if (ready !== null && ready.job !== null) return { job: ready.job, source: ready.source };
  const names = readyJobs.flatMap(({ name: one, job }) => (job === null ? [] : [one]));
  const meant = nearest(name, names);
  const why =
    ready === null
      ? `there is no ready job ${name}${meant === null ? '' : `; did you mean ${meant}?`}`
      : `${name} is more than a job file; its source is ${join(packageFolder, dirname(ready.source))}`;
  throw usageError(`${why}\nto be copied there are ${names.join(', ')}`);
}

/** A ready job imports nothing of ours but the names of `millrace/jobs`. */
function asUsers(source: string): string {
  return source.replaceAll("from '../index.ts'", "from 'millrace/jobs'");
}

/** Whether a package.json that makes modules of `.ts` files is in the folder or above it. */
async function hasPackage(folder: string): Promise<boolean> {
  const file = join(folder, 'package.json');
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text !== null) {
    if ((JSON.parse(text) as { type?: string }).type === 'module') return true;
    throw usageError(`${file} says nothing of modules: put "type": "module" into it first`);
  }
  const parent = dirname(folder);
  return parent === folder ? false : hasPackage(parent);
}

function packageText(folder: string): string {
  const name =
    folder
      .replace(/[^a-z0-9-]+/gi, '-')
      .replace(/^-+|-+$/g, '')
      .toLowerCase() || 'job';
  const content = {
    name,
    private: true,
    type: 'module',
    scripts: { start: 'millrace run job.ts --settings settings.yaml' },
    dependencies: { millrace: `^${version}`, zod: '^4' },
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

async function mustBeFree(path: string): Promise<void> {
  if ((await stat(path).catch(() => null)) === null) return;
  throw usageError(`${path} is there already and is not written over; name another folder`);
}
