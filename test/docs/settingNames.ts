/** The settings that there are, by the schemas of the ready jobs and of evaluations. */
import { evalSettings } from '../../cli/eval/evalSettings.ts';
import { readyJobs } from '../../cli/readyJobs.ts';
import { groupsOf, type SettingField } from '../../cli/settingFields.ts';

/** Job → its settings. */
export const settingsOfJobs: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  readyJobs.flatMap(({ name, job }) =>
    job === null ? [] : [[name, new Set(keysOf(groupsOf(job.settings)))] as const],
  ),
);

/** Those of the examples, which are loaded from their files. */
const ofExamples = ['world', 'foldWeight', 'callWeight'];
const ofEvaluations = keysOf(groupsOf(evalSettings));

/** Every setting of any job, and groups that may be given as one word. */
export const anySetting: ReadonlySet<string> = new Set([
  ...[...settingsOfJobs.values()].flatMap((keys) => [...keys]),
  ...ofEvaluations,
  ...ofExamples,
]);

/** Groups of settings: `tools`, `tools.search`. */
export const settingGroups: ReadonlySet<string> = new Set(
  [...anySetting].flatMap((key) => {
    const names = key.split('.');
    return names.slice(1).map((_, i) => names.slice(0, i + 1).join('.'));
  }),
);

/** Those that hold names of the user's own. */
const NAMED = ['tools.mcp', 'agent.mcp'];

/** A setting, or a name of the user's own in one that takes such (`tools.mcp.files`). */
export function isKnown(key: string, known: ReadonlySet<string> = anySetting): boolean {
  return known.has(key) || NAMED.some((one) => key.startsWith(`${one}.`) && known.has(one));
}

/** Settings, and groups that may be given as one word (`tools=python`). */
function keysOf(fields: readonly SettingField[]): string[] {
  return fields.flatMap(({ key, inner }) => [
    ...(inner.length === 0 || inner.some(({ name }) => name === 'use') ? [key] : []),
    ...keysOf(inner),
  ]);
}
