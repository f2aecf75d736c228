/**
 * docs/presets.md, held to the presets: each value that it says a setting has, with a reason.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { readyJobs } from '../../cli/readyJobs.ts';
import { presetsPage } from '../../scripts/docs/presetsPage.ts';

const SEPARATOR = ' · ';

interface Row {
  readonly setting: string;
  /** Of each preset of its heading. */
  readonly values: readonly string[];
}

const page = readFileSync(new URL('../../docs/presets.md', import.meta.url), 'utf8');
const sections = page
  .split('\n### ')
  .slice(1)
  .map((section) => {
    const [heading = '', ...lines] = section.replace(/\n {2}/g, ' ').split('\n');
    const presets = heading.split(SEPARATOR);
    const rows = lines
      .filter((line) => line.startsWith('- '))
      .map((line) => rowOf(line, presets.length));
    return { presets, rows };
  });

/** `- in the script: 20 → `setting` 0: why`, with a value of each preset or one of all. */
function rowOf(line: string, count: number): Row {
  const [, setting, ours, why] = /^- .+?: .+? → `([^`]+)` (.+?): (.+)$/.exec(line) ?? [];
  if (why === undefined) throw new Error(`not a row with a reason: ${line}`);
  const all = ours!.split(SEPARATOR);
  const values = Array.from({ length: count }, (_, i) => all[all.length === count ? i : 0]!);
  return { setting: setting!, values };
}

const presets = Object.fromEntries(
  readyJobs.flatMap(({ job }) =>
    Object.entries(job?.presets ?? {}).map(([name, { settings }]) => [name, settings]),
  ),
);

function valueAt(tree: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, key) => (at as Readonly<Record<string, unknown>>)?.[key], tree);
}

/** As the page writes it: `1e-6`, `[0.1,0.0667]`, `cosine`. */
function read(text: string, like: unknown): unknown {
  return typeof like === 'string' ? text : JSON.parse(text);
}

describe('the page on presets', () => {
  test('has a section for every preset', () => {
    const named = sections.flatMap((section) => section.presets);
    expect([...named].sort()).toEqual(Object.keys(presets).sort());
    expect(sections.flatMap(({ rows }) => rows).length).toBeGreaterThan(20);
  });

  test.each(sections.map(({ presets: names, rows }) => ({ heading: names.join(SEPARATOR), rows })))(
    'says what $heading set, and why',
    ({ heading, rows }) => {
      const wrong: string[] = [];
      for (const { setting, values } of rows) {
        for (const [i, name] of heading.split(SEPARATOR).entries()) {
          const value = valueAt(presets[name], setting);
          const said = read(values[i]!, value);
          if (JSON.stringify(said) !== JSON.stringify(value))
            wrong.push(`${name} ${setting}: ${values[i]}, but it is ${JSON.stringify(value)}`);
        }
      }
      expect(wrong).toEqual([]);
    },
  );

  test('is beside a reference of every value that a preset sets', () => {
    const reference = presetsPage();
    for (const [name, settings] of Object.entries(presets)) {
      expect(reference).toContain(`\`${name}\``);
      for (const key of Object.keys(settings))
        expect(reference).toMatch(new RegExp(`\`${key}[.\`]`));
    }
  });
});
