import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { checkWeightsFiles } from '../../../cli/doctor/weightsFiles.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { weights } from '../../support/weights.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

/** Versions 0 to 12, a round every third. */
const manifests = Array.from({ length: 13 }, (_, version) => ({
  ...weights(version, Math.floor(version / 3)),
  uri: `weights/${version}.safetensors`,
  digest: null,
}));

/** Versions that are missed where the files of these are there. */
async function missed(
  there: readonly number[],
  settings = {},
  of = manifests,
): Promise<readonly string[]> {
  await rm(join(folder.path, 'weights'), { recursive: true, force: true });
  await mkdir(join(folder.path, 'weights'));
  for (const version of there)
    await writeFile(join(folder.path, `weights/${version}.safetensors`), 'weights');
  const { findings } = await checkWeightsFiles(folder.path, of, settings);
  return findings.map(({ where }) => where.replace(/\D/g, ''));
}

describe('the weights files of a run', () => {
  test('are reported missing if they ended a round', async () => {
    expect(await missed([0, 3, 9, 12])).toEqual(['6']);
  });

  test('are reported missing only if the settings keep them', async () => {
    expect(await missed([0, 9, 12], { keepRounds: 2 })).toEqual([]);
    expect(await missed([0, 12], { keepRounds: 2 })).toEqual(['9']);
    expect(await missed([0, 12], { keepRounds: 1, keepEvery: 5 })).toEqual(['5', '10']);
    expect(await missed([12], { keepRounds: 1 })).toEqual(['0']);
    expect(await missed([0], { keepRounds: 1 })).toEqual(['12']);
    expect(await missed([0, 12], { keepVersions: 'auto' })).toEqual(['3', '6', '9']);
    const large = manifests.map((manifest) => ({ ...manifest, bytes: 1e8 }));
    expect(await missed([0, 12], { keepVersions: 'auto' }, large)).toEqual([]);
  });
});
