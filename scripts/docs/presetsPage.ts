/**
 * The page of presets, from the presets of the ready jobs: every setting that one changes, with its value.
 */
import { readyJobs } from '../../cli/readyJobs.ts';
import { table } from './table.ts';

export function presetsPage(): string {
  const sections = readyJobs.flatMap(({ job }) => {
    const presets = Object.entries(job?.presets ?? {});
    if (presets.length === 0) return [];
    const values = presets.map(([, { settings }]) => new Map(flat(settings)));
    const keys = [...new Set(values.flatMap((one) => [...one.keys()]))].sort((a, b) =>
      a.localeCompare(b),
    );
    const rows = keys.map((key) => [`\`${key}\``, ...values.map((one) => said(one.get(key)))]);
    const head = ['setting', ...presets.map(([name]) => `\`${name}\``)];
    return [`## ${job!.name}\n\n${table(head, rows)}`];
  });
  return [
    '# Presets',
    'What `millrace run JOB --preset NAME` sets. [Presets](../presets.md) says where a paper’s script has another number, and why.',
    ...sections,
  ].join('\n\n');
}

/** `{ a: { b: 1 } }` → a.b, 1. */
function flat(tree: unknown, path = ''): [string, unknown][] {
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) return [[path, tree]];
  return Object.entries(tree).flatMap(([name, value]) =>
    flat(value, path === '' ? name : `${path}.${name}`),
  );
}

function said(value: unknown): string {
  return value === undefined ? '' : `\`${JSON.stringify(value)}\``;
}
