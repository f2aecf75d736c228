/**
 * docs/presets.md, held to the presets: each value that it says a setting has, each number that a preset
 * sets, and a reason wherever a script has another value.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { readyJobs } from '../../cli/readyJobs.ts';

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
    const [, same = ''] = /^The same here, by our name: ([\s\S]*?)\.$/m.exec(section) ?? [];
    return { presets, rows: [...rows, ...sameIn(same, presets.length)] };
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

/** `theirs → \`ours\` value; …` */
function sameIn(text: string, count: number): Row[] {
  return text
    .replace(/\s+/g, ' ')
    .split('; ')
    .filter((one) => one !== '')
    .map((one) => {
      const [, script, setting, value] = /^(.+) → (`[^`]+`) (.+)$/.exec(one)!;
      return rowOf(`| ${script} | ${value} | ${setting} | ${value} | |`, count);
    });
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

/** Paths of the numbers and lists of numbers. */
function numbersIn(tree: unknown, path: readonly string[] = []): string[] {
  if (typeof tree === 'number' || Array.isArray(tree)) {
    const isNumeric = typeof [tree].flat()[0] === 'number';
    return isNumeric ? [path.join('.')] : [];
  }
  if (typeof tree !== 'object' || tree === null) return [];
  return Object.entries(tree).flatMap(([key, value]) => numbersIn(value, [...path, key]));
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

  test('names every number that a preset sets', () => {
    const unnamed = sections.flatMap(({ presets: names, rows }) =>
      names.flatMap((name) => {
        // this one is described by what it changes
        const base = name === 'et-agent-7b-released' ? sections[0]!.rows : [];
        const known = new Set([...rows, ...base].map(({ setting }) => setting));
        const missing = numbersIn(presets[name]).filter((path) => !known.has(path));
        return missing.map((path) => `${name} ${path}`);
      }),
    );
    expect(unnamed).toEqual([]);
  });
});
