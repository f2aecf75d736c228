import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { open } from 'lmdb';
import { lmdbDamage } from '../../../base/lmdb/lmdbFile.ts';
import { temporaryFolder } from '../../support/folder.ts';

const PAGE = 4096;
let folder = temporaryFolder();
let path: string;
/** Tables, a tree of several levels, values on pages of their own, and pages that became free. */
beforeEach(async () => {
  folder = temporaryFolder();
  path = join(folder.path, 'file.mdb');
  const file = open<Buffer, number>({ path, noSubdir: true, maxDbs: 2, overlappingSync: false });
  const [small, large] = ['small', 'large'].map((name) =>
    file.openDB<Buffer, number>({ name, encoding: 'binary' }),
  );
  for (const round of [0, 1]) {
    await file.transaction(() => {
      for (let i = 0; i < 2000; i++) void small!.put(i, Buffer.alloc(60, round));
      for (let i = 0; i < 20; i++) void large!.put(i, Buffer.alloc(9000, round));
    });
  }
  await file.close();
});
afterEach(() => folder.remove());

/** What is said of the file with one change; a change of the older header page does not count. */
function saidAfter(change: (bytes: Buffer) => void): string | null {
  const bytes = readFileSync(path);
  const other = join(folder.path, 'other.mdb');
  change(bytes);
  writeFileSync(other, bytes);
  return lmdbDamage(other);
}

/** Numbers of the pages of trees that are in use. */
function pagesInUse(): number[] {
  const bytes = readFileSync(path);
  const newer = bytes.readBigUInt64LE(152) > bytes.readBigUInt64LE(PAGE + 152) ? 0 : PAGE;
  const found: number[] = [];
  const visit = (page: number): void => {
    const at = page * PAGE;
    found.push(page);
    for (let i = 0; i < bytes.readUInt16LE(at + 20) / 2; i++) {
      const node = at + 24 + bytes.readUInt16LE(at + 24 + 2 * i);
      if (bytes.readUInt16LE(at + 18) === 1) visit(bytes.readUInt32LE(node));
      else if (bytes.readUInt16LE(node + 4) === 2) {
        visit(bytes.readUInt32LE(node + 8 + bytes.readUInt16LE(node + 6) + 40));
      }
    }
  };
  visit(bytes.readUInt32LE(newer + 136));
  return found;
}

describe('an lmdb file', () => {
  test('that is intact shows no damage', () => {
    expect(lmdbDamage(path)).toBeNull();
    expect(pagesInUse().length).toBeGreaterThan(30);
  });

  test('is distinguished from a file that is missing, empty, truncated or of another kind', () => {
    expect(lmdbDamage(join(folder.path, 'none'))).toMatch(/cannot be opened .*ENOENT/);
    const whole = readFileSync(path);
    const { length } = whole;
    for (const size of [0, 1, 100, 4096, 4200, 8192, 50_000, length >> 1, length - PAGE]) {
      writeFileSync(path, whole.subarray(0, size));
      expect([size, lmdbDamage(path)]).toEqual([
        size,
        expect.stringMatching(
          size === 0 ? /is empty/ : /is cut short: it has (only )?\d+ (of at least \d+ )?bytes/,
        ),
      ]);
      writeFileSync(path, Buffer.concat([whole.subarray(0, size), Buffer.alloc(length - size)]));
      expect(lmdbDamage(path)).toMatch(/damaged header|page/);
    }
    writeFileSync(path, 'not a file of lmdb'.repeat(1000));
    expect(lmdbDamage(path)).toMatch(/not an lmdb file/);
  });

  test('names the page whose change would lead a reader astray', () => {
    for (const page of pagesInUse()) {
      for (const [place, bit] of [
        [0, 1], // its number
        [7, 128],
        [18, 3], // branch or leaf
        [21, 128], // how many nodes
        [23, 64], // where they begin
        [25, 128], // the first of them
      ] as const) {
        const said = saidAfter((bytes) => {
          bytes[page * PAGE + place]! ^= bit;
        });
        expect([page, place, said]).toEqual([
          page,
          place,
          expect.stringMatching(/has a damaged page/),
        ]);
      }
    }
  });

  test('shows that its header was changed', () => {
    for (const place of [18, 24, 28, 50, 51, PAGE + 18, PAGE + 24, PAGE + 50]) {
      const said = saidAfter((bytes) => {
        bytes[place]! ^= 255;
      });
      expect([place, said]).toEqual([place, expect.stringMatching(/header/)]);
    }
  });
});
