/**
 * The setting `base` of the quickstart's jobs: a policy wherever it is, as the setting `policy` of the ready
 * jobs.
 */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { initCommand } from '../../cli/model/init.ts';
import quickstart from '../../examples/quickstart/job.ts';
import { worldParts } from '../../examples/quickstart/parts.ts';
import { fakeIo } from '../cli/support/fakeIo.ts';
import { freshFolders } from '../support/folder.ts';

const OWN = fileURLToPath(new URL('../../examples/quickstart/base', import.meta.url));
const TOKENIZER = fileURLToPath(new URL('../model/hf/fixtures/tokenizer', import.meta.url));
const fresh = freshFolders();

/** The first policy's path and how a question is asked, of a run with this base. */
async function begun(base: string): Promise<{ readonly path: string; readonly prompt: number }> {
  const owned: { close(): Promise<void> }[] = [];
  const context = {
    settings: quickstart.settings.parse({ base, threads: 1 }),
    folder: fresh(),
    seed: 1,
    clock: { now: () => 0 },
    print: () => undefined,
    own: <T extends { close(): Promise<void> }>(part: T): T => {
      owned.push(part);
      return part;
    },
  } as unknown as Parameters<typeof worldParts>[0];
  try {
    const { parts } = await worldParts(context);
    return { path: String(parts.base), prompt: parts.dialect.prompt('What is 3 + 4?').length };
  } finally {
    for (const part of owned.reverse()) await part.close();
  }
}

test('the base policy is that of the world, as a folder or a file', async () => {
  const file = join(OWN, 'policy.safetensors');
  const own = await begun('');
  expect(own.path).toBe(file);
  expect([await begun(OWN), await begun(file)]).toEqual([own, own]);
});

test('the base policy may be a Hugging Face folder with tokenizer and chat template', async () => {
  const folder = join(fresh(), 'policy');
  const tokenizer = join(fresh(), 'tokenizer');
  cpSync(TOKENIZER, tokenizer, { recursive: true });
  const io = fakeIo(fresh());
  await initCommand(
    { out: folder, size: 'tiny', architecture: 'qwen2', tokenizer, seed: 1, dtype: 'f32' },
    io,
  );
  expect((await begun(folder)).path).toBe(folder);
});

test.each([
  ['a path with nothing there', 'nothing', /nothing does not exist; give/],
  ['some other file', 'notes.txt', /notes\.txt is not a policy/],
  ['some other folder', '.', /has no config\.json/],
])('the base policy is not %s', async (_, name, message) => {
  const folder = fresh();
  writeFileSync(join(folder, 'notes.txt'), 'mine');
  await expect(begun(join(folder, name))).rejects.toThrow(message);
});
