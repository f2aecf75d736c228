/** What a user gives a job: a preset, a settings file, single settings. */
import type { Job } from '../jobs/index.ts';
import { usageError } from './failure.ts';
import { foreignSettings, isForeign } from './foreignSettings/index.ts';
import type { Io } from './io.ts';
import { didYouMean, nearestNames } from './nearest.ts';
import { parseSetting, type Setting, settingsOf } from './settings.ts';
import { readSettingsFile } from './settingsFile.ts';

/** As flags. */
export interface GivenFlags {
  readonly preset?: string;
  readonly settings?: string;
  readonly set: readonly string[];
}

/** Preset, file and single settings, in this order: later ones override earlier ones. */
export async function givenSettings(
  job: Job,
  { preset, settings, set }: GivenFlags,
  io: Io,
): Promise<readonly Setting[]> {
  return [
    ...(preset === undefined ? [] : presetSettings(job, preset)),
    ...(settings === undefined ? [] : await fileSettings(settings, job, io)),
    ...set.map(parseSetting),
  ];
}

function fileSettings(file: string, { settings: schema }: Job, io: Io): Promise<Setting[]> {
  return isForeign(file)
    ? foreignSettings(file, schema, io)
    : readSettingsFile(file, schema, io.cwd);
}

function presetSettings(job: Job, name: string): Setting[] {
  const presets = job.presets ?? {};
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined;
  if (preset !== undefined) {
    return settingsOf(job.settings, preset.settings, () => `preset ${name}`);
  }
  const names = Object.keys(presets);
  throw usageError(
    `job ${job.name} has no preset ${name}${didYouMean(nearestNames(name, names))}\n` +
      (names.length === 0 ? 'it has no presets' : `its presets: ${names.join(', ')}`),
  );
}
