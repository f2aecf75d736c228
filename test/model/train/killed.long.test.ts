/**
 * `kill -9` in the middle of an optimiser step, or of a checkpoint: training goes on as if nothing had
 * happened.
 */
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { initialise } from '../../../model/config.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import { startChild } from '../../support/child.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { smallest as config } from '../smallest.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const script = fileURLToPath(new URL('children/mortalSteps.ts', import.meta.url));

async function begun(name: string): Promise<string> {
  const path = join(folder.path, name);
  mkdirSync(path);
  await savePolicy(join(path, 'base.safetensors'), { config, tensors: initialise(config, 1) });
  return path;
}

/** What the last checkpoint holds. */
function last(path: string): readonly Buffer[] {
  const names = ['000004.safetensors', '000004.optimiser.safetensors'];
  return names.map((name) => readFileSync(join(path, name)));
}

let undisturbed: { readonly digest: string; readonly files: readonly Buffer[] } | null = null;

async function leftAlone() {
  if (undisturbed !== null) return undisturbed;
  const path = await begun('undisturbed');
  const digest = await startChild(script, path).line();
  undisturbed = { digest, files: last(path) };
  return undisturbed;
}

test.each([
  ['update', 2],
  ['digest', 2],
  ['weights', 2],
  ['state', 3],
] as const)(
  'a trainer killed in the middle of the %s goes on to the same weights',
  async (fate, published) => {
    const want = await leftAlone();
    const path = await begun(fate);
    const child = startChild(script, path, fate);
    const [code, signal] = await once(child.process, 'exit');
    expect([code, signal]).toEqual([null, 'SIGKILL']);
    const manifest = JSON.parse(readFileSync(join(path, 'manifest.json'), 'utf8'));
    expect(manifest).toHaveLength(published);
    // a file is there whole or not at all
    expect(existsSync(join(path, '000003.safetensors'))).toBe(published === 3);
    expect(existsSync(join(path, '000003.optimiser.safetensors'))).toBe(false);
    expect(await startChild(script, path).line()).toBe(want.digest);
    for (const [i, file] of last(path).entries()) expect(file.equals(want.files[i]!)).toBe(true);
  },
);
