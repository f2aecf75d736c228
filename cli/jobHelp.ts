/**
 * `millrace run JOB --help`: below the options, the settings of a ready job with their defaults, and its
 * presets.
 */
import type { Job } from '../jobs/index.ts';
import { readyJob } from './readyJobs.ts';
import { knownSettings } from './settingFields.ts';

/** For a command line with --help; empty when it names no ready job. */
export function jobHelp(args: readonly string[]): string {
  const named = args.map((arg) => readyJob(arg)).find((ready) => ready !== null);
  if (named === undefined) return '';
  const { job, name } = named;
  if (job === null)
    return `\n${name}: list its settings with: millrace run ${name} --show-settings`;
  return `\n${settingsText(job)}`;
}

function settingsText(job: Job): string {
  const defaults = job.settings.safeParse({});
  const needed = defaults.success ? [] : defaults.error.issues.map(({ path }) => path.join('.'));
  const filled = nested(needed);
  const values = job.settings.safeParse(filled).data;
  const rows = knownSettings(job.settings).map(({ key, about }) => {
    const value = key.split('.').reduce<unknown>(at, values);
    const shown = needed.includes(key) || value === undefined ? '' : JSON.stringify(value);
    return [`  ${key}=${shown}`, about] as const;
  });
  const presets = Object.entries(job.presets ?? {}).map(
    ([name, { about }]) => [`  ${name}`, about] as const,
  );
  const width = Math.min(32, Math.max(...rows.map(([left]) => left.length)));
  const lines = (all: readonly (readonly [string, string])[]): string =>
    all.map(([left, right]) => `${left.padEnd(width)}  ${right}`.trimEnd()).join('\n');
  return (
    `${job.name}: ${job.about}\n\nSettings (--set key=value, or in a file) and their defaults:\n${lines(rows)}` +
    (presets.length === 0 ? '' : `\n\nPresets (--preset NAME):\n${lines(presets)}`)
  );
}

function at(value: unknown, part: string): unknown {
  return (value as Record<string, unknown> | undefined)?.[part];
}

/** A text for every required setting, so that the others get their defaults. */
function nested(keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, '-']));
}
