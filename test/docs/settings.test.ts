/**
 * Every setting, metric and name of the code that the pages mention exists. A setting is what `name=value`
 * sets, what begins with a group of settings (`engine.urls`), and what a list of settings names.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { settingsPage } from '../../scripts/docs/settingsPage.ts';
import { ROOT } from '../support/exports.ts';
import { isKnown, settingGroups } from './settingNames.ts';
import { pages } from './support.ts';

/** What others call `name=value`: Kafka, an address of it, an address of the live page, a trainer. */
const OF_OTHERS = new Set([
  ...[
    'isolation.level',
    'retention.ms',
    'min.insync.replicas',
    'auto.offset.reset',
    'rollout.name',
  ],
  ...['partitions', 'replication', 'registry', 'tls', 'from', 'm', 'n', 'x', 'smooth', 'with'],
  ...['where', 'at', 'tok', 'key', 'name'],
]);
/** Names of other trainers and of topics that begin like a group of ours. */
const ALIKE = new Set([
  ...['trainer.logger', 'trainer.policy.model.path', 'trainer.train_batch_size'],
  ...['agent.answers', 'agent.metrics', 'agent.weights', 'tools.timeout'],
]);

/** The recipes add settings of their own, these tables are of an address, and of a cluster's file. */
const read = pages.filter(
  ({ file }) => !file.startsWith('docs/extending/') && !/\/(kafka|plan)\.md$/.test(file),
);

/** Code within sentences and tables. */
const codeIn = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);
const withoutBlocks = (text: string): string => text.replace(/^(```|~~~)[\s\S]*?^\1/gm, '');

const isSetting = (key: string): boolean => isKnown(key) || settingGroups.has(key);
const NAME = String.raw`[a-z][A-Za-z]*(?:\.[A-Za-z]+)*`;

/** The names that `a=1 b.c=2` sets; of a command, those after --set. */
function setIn(code: string): string[] {
  const isCommand = /^(-|millrace |npx |npm |docker |up )/.test(code);
  const before = isCommand ? '--set ' : '(?:^|\\s)';
  return [...code.matchAll(new RegExp(`${before}(${NAME})=`, 'g'))].map(([, key]) => key!);
}

/** The names before the colons of a list of settings, without the defaults in brackets. */
function listedIn(text: string): string[] {
  const lists = [...text.matchAll(/(?<!\/)\bsettings?\b.*:\n\n((?:(?:- | {2}).*\n)+)/gi)];
  return lists
    .flatMap(([, list]) => list!.match(/^- `[^:]*/gm) ?? [])
    .flatMap((item) => [...item.replace(/ \(.*/, '').matchAll(/`([^`]+)`/g)])
    .map(([, code]) => code!.split('=')[0]!)
    .filter((name) => !name.startsWith('.') && !name.endsWith('*'));
}

function unknownIn({ text }: { readonly text: string }): string[] {
  const codes = codeIn(text);
  const dotted = codes.filter(
    (code) => /^[a-z][A-Za-z]*(\.[A-Za-z]+)+$/.test(code) && settingGroups.has(code.split('.')[0]!),
  );
  const named = codes.flatMap(setIn).filter((key) => !OF_OTHERS.has(key));
  return [...named, ...dotted, ...listedIn(text)].filter(
    (key) => !isSetting(key) && !ALIKE.has(key),
  );
}

const list = (file: string, names: readonly string[]): string[] =>
  [...new Set(names)].map((name) => `${file}: ${name}`);

test('the reference says what each setting does', () => {
  const rows = [...settingsPage().matchAll(/^\| `([^`]+)`[^|]*\|([^|]*)\|/gm)];
  expect(rows.length).toBeGreaterThan(400);
  expect(rows.filter(([, , about]) => about!.trim() === '').map(([, key]) => key)).toEqual([]);
});

describe('the documentation', () => {
  test('names only settings that exist', () => {
    expect(
      read.flatMap(({ text }) => [...codeIn(text).flatMap(setIn), ...listedIn(text)]).length,
    ).toBeGreaterThan(150);
    expect(read.flatMap((page) => list(page.file, unknownIn(page)))).toEqual([]);
  });

  test('sets only settings that exist, in any command', () => {
    const blocks = pages.flatMap(({ file, text }) =>
      [...text.matchAll(/^```(?:sh|console)\n([\s\S]*?)^```/gm)].flatMap(([, code]) =>
        [...code!.matchAll(new RegExp(`--set (${NAME})=`, 'g'))].map(([, key]) => ({
          file,
          key: key!,
        })),
      ),
    );
    expect(blocks.length).toBeGreaterThan(150);
    const unknown = blocks.filter(({ key }) => !isSetting(key) && key !== 'key');
    expect(unknown).toEqual([]);
  });

  test('names only metrics that docs/metrics.md has', () => {
    const metrics = pages.find(({ file }) => file === 'docs/metrics.md')!.text;
    const known = [...metrics.matchAll(/^\| ((?:`[^`|]+`,? *)+)\|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
    );
    const families = new Set(
      known.flatMap((name) => (name.includes('/') ? [name.split('/')[0]!] : [])),
    );
    const looksLikeOne = (code: string): boolean =>
      /^[a-z]+\/[a-z_]+$/.test(code) && families.has(code.split('/')[0]!);
    const found = read.flatMap(({ file, text }) =>
      codeIn(text)
        .filter(looksLikeOne)
        .map((name) => ({ file, name })),
    );
    expect(found.length).toBeGreaterThan(60);
    expect(found.filter(({ name }) => !known.includes(name))).toEqual([]);
  });

  test('names nothing in camel case that the code does not have', () => {
    const files = execFileSync(
      'git',
      ['ls-files', '*.ts', '*.tsx', '*.py', '*.sh', '*.yaml', '*.yml', 'package.json'],
      { cwd: ROOT, encoding: 'utf8' },
    );
    const words = new Set(
      files
        .trim()
        .split('\n')
        .filter((file) => !file.startsWith('docs/') && !file.startsWith('test/docs/'))
        .flatMap((file) => readFileSync(join(ROOT, file), 'utf8').match(/[A-Za-z_]\w*/g) ?? []),
    );
    const named = read.flatMap(({ file, text }) =>
      codeIn(text)
        .filter((code) => /^[a-z]+[A-Z][A-Za-z]*$/.test(code))
        .map((name) => ({ file, name })),
    );
    expect(named.length).toBeGreaterThan(120);
    // RxJS's own
    const others = new Set(['observeOn']);
    expect(named.filter(({ name }) => !words.has(name) && !others.has(name))).toEqual([]);
  });
});
