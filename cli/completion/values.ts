/** Values of arguments and options, by their names. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { SettingField } from '../settingFields.ts';
import type { Candidate, Spot } from './spot.ts';

type Values = (spot: Spot) => Promise<readonly Candidate[]>;

const VALUES: Readonly<Record<string, Values>> = {
  run: runNames,
  'run-a': runNames,
  'run-b': runNames,
  '--run': runNames,
  topic: topicNames,
  '--topic': topicNames,
  job: jobNames,
  '--preset': presets,
  '--set': settings,
  'key=value': settings,
};

/** Empty if none are known. */
export async function valuesOf(
  spot: Spot,
  name: string,
  choices: readonly string[] | undefined,
): Promise<readonly Candidate[]> {
  return choices?.map(bare) ?? (await VALUES[name]?.(spot)) ?? [];
}

function bare(word: string): Candidate {
  return { word, about: '' };
}

function runsFolder({ set, cwd }: Spot): string {
  return resolve(cwd, set['--runs'] ?? 'runs');
}

/** The newest first. */
async function runNames(spot: Spot): Promise<readonly Candidate[]> {
  const folder = runsFolder(spot);
  const names = await readdir(folder).catch(() => []);
  const times = await Promise.all(
    names.map((name) =>
      stat(join(folder, name, 'run.json')).then(
        ({ mtimeMs }) => mtimeMs,
        () => null,
      ),
    ),
  );
  return names
    .map((name, i) => ({ name, mtimeMs: times[i]! }))
    .filter(({ mtimeMs }) => mtimeMs !== null)
    .sort((a, b) => b.mtimeMs - a.mtimeMs)
    .map(({ name }) => bare(name));
}

/** `rollouts`; `first.`, and after it `first.rollouts`. */
async function topicNames(spot: Spot): Promise<readonly Candidate[]> {
  const { topicNames: names } = await import('../tap/patterns.ts');
  const [run, topic] = spot.typed.split('.');
  if (topic !== undefined) return names.map((name) => bare(`${run}.${name}`));
  const runs = spot.option === null ? await runNames(spot) : [];
  return [...names.map(bare), ...runs.map(({ word }) => bare(`${word}.`))];
}

async function jobNames(): Promise<readonly Candidate[]> {
  const { readyJobs } = await import('../readyJobs.ts');
  return readyJobs.map(({ name, about }) => ({ word: name, about }));
}

async function presets({ given: [job = ''] }: Spot): Promise<readonly Candidate[]> {
  const { readyJob } = await import('../readyJobs.ts');
  const known = readyJob(job)?.job?.presets ?? {};
  return Object.entries(known).map(([word, { about }]) => ({ word, about }));
}

/** `temperature=`; after it, the possible values. For the user's own job: those of the run. */
async function settings(spot: Spot): Promise<readonly Candidate[]> {
  const { command, given, set, typed } = spot;
  const runs = command.name() === 'run';
  const run = await recordOf(spot, runs ? set['--run'] : given[0]);
  const fields = await fieldsOf((runs ? given[0] : undefined) ?? run?.job.file ?? '');
  if (fields === null) return keysIn(run?.settings ?? {}).map((key) => bare(`${key}=`));
  const known = leaves(fields).filter(({ live }) => command.name() !== 'set' || live === true);
  const chosen = known.find(({ key }) => typed.startsWith(`${key}=`));
  if (chosen !== undefined) return chosen.choices.map((choice) => bare(`${chosen.key}=${choice}`));
  return known.map(({ key, about }) => ({ word: `${key}=`, about }));
}

interface RunSettings {
  readonly job: { readonly file: string };
  readonly settings: Readonly<Record<string, unknown>>;
}

async function recordOf(spot: Spot, run: string | undefined): Promise<RunSettings | null> {
  if (run === undefined || run.includes('/')) return null;
  const text = await readFile(join(runsFolder(spot), run, 'run.json'), 'utf8').catch(() => 'null');
  return JSON.parse(text) as RunSettings | null;
}

/** Null for a job that does not come with the package: its file would have to be executed. */
async function fieldsOf(job: string): Promise<readonly SettingField[] | null> {
  const { readyJobs } = await import('../readyJobs.ts');
  const ready = readyJobs.find(({ name, source }) => name === job || source === job);
  if (ready === undefined) return null;
  const { loadJob } = await import('../loadJob.ts');
  const { groupsOf } = await import('../settingFields.ts');
  return groupsOf((await loadJob(ready.name, '.')).settings);
}

function leaves(fields: readonly SettingField[]): readonly SettingField[] {
  return fields.flatMap((field) => (field.inner.length === 0 ? [field] : leaves(field.inner)));
}

function keysIn(group: Readonly<Record<string, unknown>>, prefix = ''): readonly string[] {
  return Object.entries(group).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? keysIn(value as Readonly<Record<string, unknown>>, `${prefix}${name}.`)
      : [`${prefix}${name}`],
  );
}
