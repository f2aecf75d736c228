/**
 * The readers on files that people made: pages and manuals that npm and Debian packages ship. Those of Debian
 * where they are installed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../../base/clock.ts';
import { sleepClock } from '../../../../base/sleepClock.ts';
import {
  type Extract,
  type ParsedPage,
  pageParser,
} from '../../../../operators/tools/pages/pageParser.ts';
import { ROOT } from '../../../support/exports.ts';
import { pdfOf } from '../../../support/pdf.ts';

const parser = pageParser({ clock: sleepClock(systemClock), timeoutMs: 55_000, threads: 1 });
afterAll(() => parser.close());

function read(path: string, extract: Extract = 'readable'): Promise<ParsedPage> {
  const file = readFileSync(path);
  const bytes = new Uint8Array(path.endsWith('.gz') ? gunzipSync(file) : file);
  return parser.parse({ bytes, contentType: '', extract }, new AbortController().signal);
}

test('the HTML page of the package pyodide is read', async () => {
  const path = join(ROOT, 'node_modules/pyodide/console.html');
  expect(await read(path)).toEqual({ format: 'html', title: '', text: 'jQuery Terminal' });
});

interface Real {
  readonly path: string;
  readonly title: string;
  readonly has: RegExp;
  readonly lacks: RegExp;
}

const FS = '/usr/share/doc/nodejs/api/fs.html';
const DEBIAN: readonly Real[] = [
  {
    path: '/usr/share/doc/base-passwd/users-and-groups.html',
    title: 'Users and Groups in the Debian System',
    has: /\bdaemon\b[\s\S]*unprivileged daemons[\s\S]*games/,
    lacks: /<\w+>|\{margin/,
  },
  {
    path: FS,
    title: 'File system',
    has: /promise-based APIs[\s\S]*fsPromises\.access/,
    lacks: /<pre>|hljs/,
  },
  {
    path: '/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf',
    title: '',
    has: /Shared MIME-info Database[\s\S]*Thomas Leonard[\s\S]*magic/,
    lacks: /endstream|FlateDecode/,
  },
  {
    path: '/usr/share/doc/libtasn1-doc/libtasn1.pdf',
    title: '',
    has: /Abstract Syntax Notation One[\s\S]*asn1_create_element/,
    lacks: /endstream|FlateDecode/,
  },
];

describe('a file of Debian', () => {
  for (const { path, title, has, lacks } of DEBIAN) {
    const there = existsSync(path) ? test : test.skip;
    there(path, async () => {
      const page = await read(path);
      expect(page.title).toContain(title);
      expect(page.text).toMatch(has);
      expect(page.text).not.toMatch(lacks);
    });
  }

  (existsSync(FS) ? test : test.skip)('has more text if everything visible is taken', async () => {
    const [main, all] = [await read(FS), await read(FS, 'visible')];
    expect(all.text).not.toMatch(/\n| {2}/);
    expect(all.text.length).toBeGreaterThan(main.text.replace(/\s+/g, ' ').length);
  });
});

test('a PDF is read with title and words, and recognised by its first bytes', async () => {
  const page = { bytes: pdfOf('Words of a page.', 'Its title'), contentType: 'text/html' };
  expect(
    await parser.parse({ ...page, extract: 'readable' }, new AbortController().signal),
  ).toEqual({ format: 'pdf', title: 'Its title', text: 'Words of a page.' });
});

test('a file that is not a PDF is reported', async () => {
  const page = { bytes: new Uint8Array(Buffer.from('%PDF-1.7 rubbish')), contentType: '' };
  await expect(
    parser.parse({ ...page, extract: 'readable' }, new AbortController().signal),
  ).rejects.toThrow(/PDF/);
});
