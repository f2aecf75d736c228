/**
 * Every link between pages leads to a file and a heading that exist, and every page has its place in the
 * order.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ROOT } from '../support/exports.ts';
import { anchorsOf, pages, prose } from './support.ts';

/** Made by `npm run docs`. */
const GENERATED = /^docs\/(api|reference)\//;

const more = [
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'DECISIONS.md',
  'bench/README.md',
  'bench/experiments.md',
].map((file) => ({
  file,
  text: readFileSync(join(ROOT, file), 'utf8'),
}));

/** Links that lead nowhere. */
function dead(file: string, text: string): string[] {
  return [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, href]) => href!)
    .filter((href) => !/^[a-z]+:/i.test(href))
    .filter((href) => {
      const [path = '', anchor] = href.split('#');
      const target = path === '' ? file : posix.join(posix.dirname(file), decodeURI(path));
      if (GENERATED.test(target)) return false;
      if (!existsSync(join(ROOT, target))) return true;
      if (anchor === undefined || statSync(join(ROOT, target)).isDirectory()) return false;
      return !anchorsOf(readFileSync(join(ROOT, target), 'utf8')).has(anchor);
    })
    .map((href) => `${file}: ${href}`);
}

describe('the documentation', () => {
  test('has no dead link', () => {
    expect(pages.length).toBeGreaterThan(40);
    expect([...pages, ...more].flatMap(({ file, text }) => dead(file, text))).toEqual([]);
  });

  test('has every page once in the order of docs/README.md', () => {
    const index = pages.find(({ file }) => file === 'docs/README.md')!.text;
    const order = index.slice(index.indexOf('\n## '));
    const linked = [...order.matchAll(/\]\(([^)#]+\.md)\)/g)].map(([, file]) =>
      posix.join('docs', file!),
    );
    const docs = pages.map(({ file }) => file).filter((file) => file.startsWith('docs/'));
    expect(linked.filter((file, i) => linked.indexOf(file) !== i)).toEqual([]);
    expect(docs.filter((file) => file !== 'docs/README.md' && !linked.includes(file))).toEqual([]);
  });
});
