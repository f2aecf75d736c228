/**
 * The page of settings, from the schemas of the ready jobs: each setting once, with its default in each job.
 */
import { readyJobs } from '../../cli/readyJobs.ts';
import { groupsOf, type SettingField } from '../../cli/settingFields.ts';
import { defaultsOf } from '../../cli/showSettings.ts';
import type { Job } from '../../jobs/index.ts';
import { grouped, sentence, table } from './table.ts';

interface Seen {
  readonly about: string;
  readonly live: boolean;
  /** Job → default as JSON; '' = none. */
  readonly defaults: Map<string, string>;
}

export function settingsPage(): string {
  const jobs = readyJobs.flatMap(({ job }) => (job === null ? [] : [job]));
  const names = jobs.map(({ name }) => name);
  const seen = new Map<string, Seen>();
  for (const job of jobs) collect(job, seen);
  const groups = grouped(seen, (key) => (key.includes('.') ? key.split('.')[0]! : ''));
  const sections = [...groups]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([group, settings]) => {
      const rows = settings
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([key, one]) => [
          `\`${key}\`${one.live ? ' ↻' : ''}`,
          sentence(one.about),
          said(one.defaults, names),
        ]);
      return `## ${group === '' ? 'Without a group' : `${group}.*`}\n\n${table(['setting', 'what it does', 'default'], rows)}`;
    });
  return [
    '# Settings',
    `The settings of the ready jobs (${names.join(', ')}), made from their schemas. Where a job is named, the default is that job's; a setting that names only some jobs exists only there. ↻ may change during a run (\`millrace set\`). \`millrace run JOB --show-settings\` prints those of one job with the values it would run with.`,
    ...sections,
  ].join('\n\n');
}

function collect(job: Job, seen: Map<string, Seen>): void {
  const defaults = defaultsOf(job.settings);
  const walk = (fields: readonly SettingField[]): void => {
    for (const { key, about, choices, live = false, inner } of fields) {
      if (inner.length > 0) {
        walk(inner);
        continue;
      }
      const value = key
        .split('.')
        .reduce<unknown>(
          (at, name) => (at as Record<string, unknown> | undefined)?.[name],
          defaults,
        );
      const one = seen.get(key) ?? {
        ...{ live, defaults: new Map() },
        about: [about, choices.length === 0 ? '' : `one of ${choices.join(', ')}`]
          .filter(Boolean)
          .join('; '),
      };
      one.defaults.set(job.name, value === undefined ? '' : JSON.stringify(value));
      seen.set(key, one);
    }
  };
  walk(groupsOf(job.settings));
}

/** The names of the jobs, or of those that lack it if they are fewer. */
function which(names: readonly string[], all: readonly string[]): string {
  const others = all.filter((name) => !names.includes(name));
  return others.length > 0 && others.length <= 2 && names.length > 3
    ? `all but ${others.join(', ')}`
    : names.join(', ');
}

function said(defaults: Seen['defaults'], jobs: readonly string[]): string {
  const code = (value: string): string => (value === '' ? 'needed' : `\`${value}\``);
  const by = grouped(defaults, (_, value) => value);
  if (by.size === 1 && defaults.size === jobs.length) return code([...by.keys()][0]!);
  return [...by]
    .map(
      ([value, of]) =>
        `${code(value)} (${which(
          of.map(([name]) => name),
          jobs,
        )})`,
    )
    .join('; ');
}
