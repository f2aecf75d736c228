/** The built page: small, whole, and loading nothing else. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';

const folder = 'dist/page/browser';

describe('the built page', () => {
  let files: ReadonlyMap<string, Buffer>;

  beforeAll(() => {
    const names = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    files = new Map(names.map((name) => [name, readFileSync(name)]));
  });

  /** What a browser loads. */
  const loaded = (): Buffer[] =>
    [...files].flatMap(([name, body]) => (/\.(js|css|html|svg)$/.test(name) ? [body] : []));

  test('is at most 220 kB, and 80 kB compressed', () => {
    const bytes = loaded().reduce((sum, body) => sum + body.length, 0);
    const packed = loaded().reduce((sum, body) => sum + gzipSync(body, { level: 9 }).length, 0);
    expect(bytes).toBeLessThanOrEqual(220_000);
    expect(packed).toBeLessThanOrEqual(80_000);
  });

  test('names only files that exist', () => {
    const page = files.get(join(folder, 'index.html'))!.toString();
    const named = [...page.matchAll(/(?:src|href|content)="(\/assets\/[^"]+)"/g)].map(
      (match) => match[1]!,
    );
    expect(named).toHaveLength(4);
    for (const path of named) expect([...files.keys()]).toContain(join(folder, path));
    const bundle = JSON.parse(files.get(join(folder, 'bundle.json'))!.toString()) as object;
    expect(Object.values(bundle).sort()).toEqual(named.sort());
  });

  test('names no other host, except in XML namespaces', () => {
    const addresses = loaded().flatMap(
      (body) => body.toString().match(/https?:\/\/[\w./-]+/g) ?? [],
    );
    expect(addresses.filter((address) => !address.startsWith('http://www.w3.org/'))).toEqual([]);
  });

  test('makes no markup out of text', () => {
    const source = readdirSync('page/browser', { recursive: true, withFileTypes: true })
      .filter((entry) => /\.tsx?$/.test(entry.name))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
      .join('\n');
    expect(source).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|style=/,
    );
  });

  test('has the licence notices of what is bundled', () => {
    const notices = files.get(join(folder, 'licences.txt'))!.toString();
    for (const name of ['preact', '@preact/signals', '@preact/signals-core', 'uplot']) {
      expect(notices).toContain(`${name}\n\n`);
    }
    expect(notices.match(/MIT/g)!.length).toBeGreaterThanOrEqual(4);
  });
});
