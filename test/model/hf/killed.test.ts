/** `kill -9` in the middle of a save: what was there is there, what was not is not. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { initialise } from '../../../model/config.ts';
import { loadPolicy } from '../../../model/hf/loadPolicy.ts';
import { inMemory } from '../../../model/hf/tensorSource.ts';
import { writeFolder } from '../../../model/hf/writeFolder.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import { startChild } from '../../support/child.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { smallest as config } from '../smallest.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const script = fileURLToPath(new URL('children/slowSave.ts', import.meta.url));
const policy = { config, tensors: initialise(config, 1) };

async function killedIn(kind: 'folder' | 'file', path: string): Promise<void> {
  const child = startChild(script, kind, path, JSON.stringify(config));
  expect(await child.line()).toBe('in the middle');
  await child.kill();
}

test('a save that was killed leaves no folder, and can be repeated', async () => {
  const path = join(folder.path, 'p');
  await killedIn('folder', path);
  expect(existsSync(path)).toBe(false);
  await writeFolder(path, config, inMemory(policy.tensors), { dtype: 'F32' });
  expect(await loadPolicy(path)).toEqual(policy);
});

test('a save that was killed leaves the old file', async () => {
  const path = join(folder.path, 'p.safetensors');
  const { sha256 } = await savePolicy(path, policy);
  await killedIn('file', path);
  expect(await loadPolicy(path, sha256)).toEqual(policy);
});
