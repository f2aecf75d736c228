/**
 * docs/presets.md, held to the presets: each value that it says a setting has, and a reason wherever a script
 * has another value.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { readyJobs } from '../../cli/readyJobs.ts';
import { presetsPage } from '../../scripts/docs/presetsPage.ts';

const SEPARATOR = ' · ';
const NONE = '–';

interface Row {
  readonly script: string;
  /** Of each preset of its heading. */
  readonly theirs: readonly string[];
  /** Null = there is no setting. */
  readonly setting: string | null;
  readonly ours: readonly string[];
  readonly why: string;
}

const page = readFileSync(new URL('../../docs/presets.md', import.meta.url), 'utf8');
const sections = page
  .split('\n### ')
  .slice(1)
  .map((section) => {
    const [heading = '', ...lines] = section.split('\n');
    const presets = heading.split(SEPARATOR);
    const rows = lines
      .filter((line) => line.startsWith('|') && !/^\| (script|---)/.test(line))
      .map((line) => rowOf(line, presets.length));
    return { presets, rows };
  });

function rowOf(line: string, count: number): Row {
  const [script, theirs, setting, ours, why] = line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
  const each = (cell: string): string[] => {
    const values = cell.split(SEPARATOR);
    return Array.from({ length: count }, (_, i) => values[values.length === count ? i : 0]!);
  };
  return {
    ...{ script: script!, theirs: each(theirs!), ours: each(ours!), why: why! },
    setting: setting === NONE ? null : setting!.slice(1, -1),
  };
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
  });

  test.each(sections.map(({ presets: names, rows }) => ({ heading: names.join(SEPARATOR), rows })))(
    'says what $heading set, and why where a script differs',
    ({ heading, rows }) => {
      const wrong: string[] = [];
      for (const { script, theirs, setting, ours, why } of rows) {
        for (const [i, name] of heading.split(SEPARATOR).entries()) {
          if (setting !== null) {
            const value = valueAt(presets[name], setting);
            const said = read(ours[i]!, value);
            if (JSON.stringify(said) !== JSON.stringify(value))
              wrong.push(`${name} ${setting}: ${ours[i]}, but it is ${JSON.stringify(value)}`);
          }
          if (theirs[i] !== ours[i] && why === '') wrong.push(`${name} ${script}: no reason`);
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
