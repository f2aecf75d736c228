/** A run goes on with the files that it began with. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sameInputs, tokenizerFiles } from '../../jobs/inputs.ts';
import { temporaryFolder } from '../support/folder.ts';

let folder: ReturnType<typeof temporaryFolder>;
let run: string;
let corpus: string;
beforeEach(() => {
  folder = temporaryFolder();
  run = join(folder.path, 'runs', 'one');
  corpus = join(folder.path, 'corpus.jsonl');
  writeFileSync(corpus, '{"id":"a","text":"Ada was born in 1815."}\n');
});
afterEach(() => folder.remove());

test('a run goes on with unchanged input files, and may read more of them', async () => {
  await sameInputs(run, [corpus, '']);
  await sameInputs(run, [corpus]);
  const more = join(folder.path, 'more.csv');
  writeFileSync(more, 'question,answer\n');
  await sameInputs(run, [corpus, more]);
  writeFileSync(more, 'question,answer,id\n');
  await expect(sameInputs(run, [corpus, more])).rejects.toThrow(
    /more\.csv, an input of this run, has changed since/,
  );
});

test('a run is not resumed with a changed input file, which is named', async () => {
  await sameInputs(run, [corpus]);
  writeFileSync(corpus, '{"id":"a","text":"Ada was born in 1816."}\n');
  await expect(sameInputs(run, [corpus])).rejects.toMatchObject({
    code: 'INPUT_CHANGED',
    message: expect.stringMatching(
      /corpus\.jsonl, an input of this run, has changed since it started.*--run NAME/,
    ),
  });
});

test('a run is not resumed with a missing or a new input file', async () => {
  const files = tokenizerFiles(folder.path);
  await sameInputs(run, [corpus, ...files]);
  writeFileSync(join(folder.path, 'chat_template.jinja'), 'x');
  await expect(sameInputs(run, files)).rejects.toThrow(
    /chat_template\.jinja, an input of this run, has changed/,
  );
  rmSync(corpus);
  await expect(sameInputs(run, [corpus])).rejects.toThrow(
    /corpus\.jsonl, an input of this run, no longer exists/,
  );
});

test('input files in the folder of a moved run are found', async () => {
  const inside = join(run, 'train.csv');
  await sameInputs(run, [corpus, inside]);
  const moved = join(folder.path, 'elsewhere');
  renameSync(run, moved);
  await sameInputs(moved, [corpus, join(moved, 'train.csv')]);
  writeFileSync(join(moved, 'train.csv'), 'question,answer\n');
  await expect(sameInputs(moved, [join(moved, 'train.csv')])).rejects.toThrow(
    /train\.csv, an input of this run, has changed/,
  );
});

test('a run is not resumed if its note of the input files cannot be read', async () => {
  await sameInputs(run, [corpus]);
  for (const spoilt of ['{', '']) {
    writeFileSync(join(run, 'inputs.json'), spoilt);
    await expect(sameInputs(run, [corpus])).rejects.toMatchObject({ code: 'DAMAGED' });
  }
  // It is there, and is not a file.
  rmSync(join(run, 'inputs.json'));
  mkdirSync(join(run, 'inputs.json'));
  await expect(sameInputs(run, [corpus])).rejects.toMatchObject({ code: 'EISDIR' });
});
