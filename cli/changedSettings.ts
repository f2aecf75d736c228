/** Which settings of a run differ from its job's defaults, and where they were given. */
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { ChangedSetting } from '../summary/facts/index.ts';
import { knownSettings, type Settings } from './settingFields.ts';
import { lastGiven, type Setting } from './settings.ts';
import { defaultsOf } from './showSettings.ts';

/** By dotted key. `settings` = the run's complete settings. */
export function changedSettings(
  schema: z.ZodType,
  given: readonly Setting[],
  settings: Settings,
): Record<string, ChangedSetting> {
  const defaults = defaultsOf(schema);
  const changed = knownSettings(schema).flatMap(({ key }): [string, ChangedSetting][] => {
    const path = key.split('.');
    const usual = valueAt(defaults, path);
    if (isDeepStrictEqual(valueAt(settings, path), usual)) return [];
    const setting = lastGiven(given, key);
    if (setting === undefined && usual === undefined) return [];
    const from = setting?.from ?? '--set';
    return [[key, usual === undefined ? { from } : { from, default: usual }]];
  });
  return Object.fromEntries(changed);
}

function valueAt(settings: Settings, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (typeof at === 'object' && at !== null ? (at as Settings)[name] : undefined),
    settings,
  );
}
