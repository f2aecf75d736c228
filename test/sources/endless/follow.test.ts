/** Files that grow and folders that fill: every line once, through rotation, truncation and restarts. */
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { type SleepClock, sleepClock } from '../../../base/sleepClock.ts';
import { followFile } from '../../../sources/endless/followFile.ts';
import { followFolder } from '../../../sources/endless/followFolder.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { until } from '../../support/until.ts';
import { Taking } from './taking.ts';

let folder: ReturnType<typeof temporaryFolder>;
let path: string;
let taking: Taking;

let looks = 0;
const system = sleepClock(systemClock);
/** It is slept by after every look. */
const clock: SleepClock = {
  now: system.now,
  sleep(ms, signal) {
    looks += 1;
    return system.sleep(ms, signal);
  },
};
/** Resolves once a look has seen all that was done before. */
function lookedAt(): Promise<true> {
  const before = looks;
  return until(() => looks > before + 1);
}

const options = { clock, pollMs: 5 };
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder.path, 'my.jsonl');
  taking = new Taking(() => followFile(path, options));
});
afterEach(async () => {
  await taking.stop();
  folder.remove();
});

const line = (id: string): string => `${JSON.stringify({ id, question: `${id}?`, answer: '1' })}\n`;
const lines = (...ids: string[]): string => ids.map(line).join('');

describe('a growing file', () => {
  test('gives each complete line, and bad ones as dead letters with their lines', async () => {
    writeFileSync(
      path,
      `${line('a')}not json\n\n{"question":"no answer?"}\n${line('b').slice(0, 10)}`,
    );
    expect(await taking.take(3)).toEqual(['a', 'my.jsonl:2', 'my.jsonl:4']);
    const next = taking.take(2);
    appendFileSync(path, line('b').slice(10));
    appendFileSync(path, line('c'));
    expect(await next).toEqual(['b', 'c']);
  });

  test('is waited for if it does not exist yet', async () => {
    const next = taking.take(1);
    writeFileSync(path, line('a'));
    expect(await next).toEqual(['a']);
  });

  test('continues after the last line taken when restarted', async () => {
    writeFileSync(path, lines('a', 'b', 'c'));
    expect(await taking.take(2)).toEqual(['a', 'b']);
    await taking.stop();
    appendFileSync(path, line('d'));
    expect(await taking.take(2)).toEqual(['c', 'd']);
  });

  test('is read to its end when renamed, then the new one from its beginning', async () => {
    writeFileSync(path, lines('a'));
    expect(await taking.take(1)).toEqual(['a']);
    const next = taking.take(3);
    renameSync(path, `${path}.1`);
    appendFileSync(`${path}.1`, line('b')); // its writer has it open still
    writeFileSync(path, lines('d'));
    appendFileSync(`${path}.1`, line('c').trimEnd());
    expect(await next).toEqual(['b', 'c', 'd']);
  });

  test('loses nothing when it is rotated twice while no one reads', async () => {
    writeFileSync(path, lines('a', 'b'));
    expect(await taking.take(1)).toEqual(['a']);
    await taking.stop();
    renameSync(path, `${path}.2`);
    writeFileSync(`${path}.1`, lines('c'));
    writeFileSync(path, lines('d'));
    for (const [i, file] of [`${path}.2`, `${path}.1`, path].entries()) utimesSync(file, i, i);
    expect(await taking.take(3)).toEqual(['b', 'c', 'd']);
  });

  test('begins again when emptied, even if it has grown past the old place meanwhile', async () => {
    writeFileSync(path, lines('a', 'b'));
    expect(await taking.take(2)).toEqual(['a', 'b']);
    const next = taking.take(1);
    truncateSync(path);
    appendFileSync(path, lines('c'));
    expect(await next).toEqual(['c']);
    const longer = taking.take(3);
    writeFileSync(path, lines('d', 'e', 'f'));
    expect(await longer).toEqual(['d', 'e', 'f']);
    await taking.stop();
    writeFileSync(path, lines('v', 'w', 'x', 'y', 'z'));
    expect(await taking.take(4)).toEqual(['my.jsonl:3', 'v', 'w', 'x']);
  });

  test('is read to its end from the copy when copied and emptied', async () => {
    writeFileSync(path, lines('a', 'b'));
    expect(await taking.take(1)).toEqual(['a']);
    await taking.stop();
    copyFileSync(path, `${path}.1`);
    truncateSync(path);
    appendFileSync(path, lines('c'));
    expect(await taking.take(2)).toEqual(['b', 'c']);
  });

  test('leaves one dead letter if lines that came cannot be found', async () => {
    writeFileSync(path, lines('a', 'b'));
    expect(await taking.take(2)).toEqual(['a', 'b']);
    await taking.stop();
    rmSync(path);
    expect(await taking.take(1)).toEqual(['my.jsonl:2']);
    await taking.stop();
    const next = taking.take(1);
    writeFileSync(path, line('c'));
    expect(await next).toEqual(['c']);
  });

  test('gives a question without an id the same id each time, and another if repeats are asked again', async () => {
    const plain = '{"question":"2 + 2?","answer":"4"}\n';
    writeFileSync(path, plain + plain.replace(',', ', '));
    const [one, other] = await taking.take(2);
    expect(one).toBe(other);
    const again = new Taking(() => followFile(path, { ...options, repeats: 'again' }));
    const [first, second] = await again.take(2);
    await again.stop();
    expect(first).not.toBe(second);
    expect(first?.startsWith(`${one}@`)).toBe(true);
  });

  test('must be JSON Lines', () => {
    expect(() => followFile('my.csv', options)).toThrow('only JSON Lines files');
  });
});

describe('a growing folder', () => {
  let inbox: string;
  beforeEach(() => {
    inbox = join(folder.path, 'inbox');
    mkdirSync(inbox);
    taking = new Taking(() => followFolder(inbox, options));
  });
  const put = (name: string, text: string | Buffer): void => {
    writeFileSync(join(folder.path, 'half'), text);
    renameSync(join(folder.path, 'half'), join(inbox, name));
  };

  test('gives the rows of each file once, in any format, and resumes within one', async () => {
    put('b.jsonl', lines('b1', 'b2'));
    put('a.csv', 'id,question,answer\na1,?,1\na2,?,\na3,?,3\n');
    put('.hidden.jsonl', lines('h'));
    put('notes.txt', 'no questions');
    put('c.jsonl.gz', gzipSync(lines('c1')));
    expect(await taking.take(2)).toEqual(['a1', 'a.csv:3']);
    await taking.stop();
    expect(await taking.take(4)).toEqual(['a3', 'b1', 'b2', 'c1']);
    const next = taking.take(1);
    put('a0.json', '[{"id":"n","question":"?","answer":"1"}]');
    expect(await next).toEqual(['n']);
  });

  test('asks what is added to a file later, and nothing twice', async () => {
    put('a.jsonl', lines('a1'));
    expect(await taking.take(1)).toEqual(['a1']);
    const next = taking.take(1);
    appendFileSync(join(inbox, 'a.jsonl'), line('a2'));
    expect(await next).toEqual(['a2']);
    await taking.stop();
    put('b.jsonl', lines('b1'));
    expect(await taking.take(1)).toEqual(['b1']);
  });

  test('reads all of a file that was deleted and created again under its name', async () => {
    put('a.jsonl', lines('a1', 'a2', 'a3'));
    put('z.jsonl', lines('z1'));
    expect(await taking.take(4)).toEqual(['a1', 'a2', 'a3', 'z1']);
    const next = taking.take(2);
    rmSync(join(inbox, 'a.jsonl'));
    await lookedAt();
    put('a.jsonl', lines('b1', 'b2'));
    expect(await next).toEqual(['b1', 'b2']);
    await taking.stop();
    rmSync(join(inbox, 'a.jsonl'));
    put('a.jsonl', lines('c1', 'c2', 'c3'));
    expect(await taking.take(3)).toEqual(['c1', 'c2', 'c3']);
  });

  test('reads all of a file that replaces another with the same beginning', async () => {
    put('a.csv', 'id,question,answer\na1,?,1\na2,?,2\n');
    expect(await taking.take(2)).toEqual(['a1', 'a2']);
    const next = taking.take(3);
    put('a.csv', 'id,question,answer\na1,?,1\nb2,?,2\nb3,?,3\n');
    expect(await next).toEqual(['a1', 'b2', 'b3']);
    await taking.stop();
    put('a.csv', 'id,question,answer\nc1,?,1\n');
    expect(await taking.take(1)).toEqual(['c1']);
  });

  test('asks the same rows again if repeats are asked again and the file was created again', async () => {
    taking = new Taking(() => followFolder(inbox, { ...options, repeats: 'again' }));
    put('a.jsonl', line('a'));
    put('z.jsonl', line('z'));
    expect(await taking.take(2)).toEqual(['a@a.jsonl:1', 'z@z.jsonl:1']);
    const next = taking.take(1);
    rmSync(join(inbox, 'a.jsonl'));
    await lookedAt();
    put('a.jsonl', line('a'));
    expect(await next).toEqual(['a@a.jsonl#1:1']);
  });

  test('continues after the cursor of an older version', async () => {
    put('a.jsonl', lines('a1', 'a2'));
    taking.cursors.set('a.jsonl', JSON.stringify({ rows: 1, whole: null }));
    expect(await taking.take(1)).toEqual(['a2']);
  });

  test('leaves one dead letter for a file that cannot be read', async () => {
    put('a.parquet', 'no parquet');
    put('b.jsonl', lines('b1'));
    const taken = await taking.take(2);
    expect(taken).toEqual(['a.parquet:0', 'b1']);
  });
});
