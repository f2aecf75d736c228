/** What killed processes leave: found by its name, and nothing else is. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import {
  leftoversIn,
  leftoversText,
  removeLeftovers,
  scratchName,
  unfinished,
} from '../../base/leftovers.ts';
import { startChild } from '../support/child.ts';
import { freshFolders } from '../support/folder.ts';

const fresh = freshFolders();
const maker = fileURLToPath(new URL('children/maker.ts', import.meta.url));
const namesOf = (found: readonly { readonly path: string }[]) =>
  found.map(({ path }) => basename(path)).sort();

test('unfinished files are left alone while their process lives, and removed once it was killed', async () => {
  const folder = fresh();
  const child = startChild(maker, folder);
  await child.line();
  const made = readdirSync(folder);
  expect(made).toHaveLength(2);
  const found = async () => [
    ...(await leftoversIn(folder, 'files')),
    ...(await leftoversIn(folder, 'scratch')),
  ];
  expect(await found()).toEqual([]);
  await child.kill();
  const left = await found();
  expect(namesOf(left)).toEqual(made.sort());
  expect(leftoversText(left)).toBe('2 leftovers of killed processes, 0.0 MB');
  expect(left.map(({ bytes }) => bytes).sort()).toEqual([10, 4]);
  await removeLeftovers(left);
  expect(readdirSync(folder)).toEqual([]);
});

test('files of this process, of other machines and of other programs are not leftovers', async () => {
  const folder = fresh();
  const mine = [unfinished('000002.safetensors'), scratchName('verify', 'a')];
  const theirs = ['000003.safetensors.elsewhere-4194303-1700000000000.tmp'];
  const others = ['.cache-4194303', '.git', 'notes.tmp', '000004.safetensors', 'pack-4194303'];
  for (const name of [...mine, ...theirs, ...others]) writeFileSync(join(folder, name), '');
  expect(await leftoversIn(folder, 'files')).toEqual([]);
  expect(await leftoversIn(folder, 'scratch')).toEqual([]);
  // Who alone writes here knows that no one finishes them; what it makes itself stays.
  const alone = await leftoversIn(folder, 'files', { alone: true });
  expect(namesOf(alone)).toEqual([...theirs, 'notes.tmp'].sort());
});

test('a file of a process with our number from before a reboot is a leftover', async () => {
  const folder = fresh();
  const host = hostname().replace(/[^A-Za-z0-9._-]/g, '-');
  const old = `000002.safetensors.${host}-${process.pid}-1700000000000.tmp`;
  writeFileSync(join(folder, old), '');
  expect(namesOf(await leftoversIn(folder, 'files'))).toEqual([old]);
});

test('leftovers named by earlier versions, by process number alone, are found', async () => {
  const folder = fresh();
  // No process has this number: the largest of Linux, which it does not give out.
  const old = ['000002.safetensors.4194304.tmp', '.pack-mine-4194304', '.unpack-4194304'];
  for (const name of old) mkdirSync(join(folder, name));
  const found = [
    ...(await leftoversIn(folder, 'files')),
    ...(await leftoversIn(folder, 'scratch')),
  ];
  expect(namesOf(found)).toEqual([...old].sort());
});

test('a folder that does not exist has no leftovers', async () => {
  const folder = join(fresh(), 'gone');
  expect(await leftoversIn(folder, 'files')).toEqual([]);
  expect(existsSync(folder)).toBe(false);
});
