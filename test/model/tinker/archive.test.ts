import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { create } from 'tar';
import type { DecoderConfig } from '../../../model/config.ts';
import { writeAdapter } from '../../../model/hf/adapterFiles.ts';
import type { LoraAdapter } from '../../../model/hf/lora.ts';
import { initialAdapter } from '../../../model/hf/lora.ts';
import { adapterAt, unpack } from '../../../model/tinker/archive.ts';
import { temporaryFolder } from '../../support/folder.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

async function packed(names: readonly string[]): Promise<Uint8Array> {
  const file = join(folder.path, 'archive.tar.gz');
  await create({ gzip: true, file, cwd: folder.path }, [...names]);
  return readFileSync(file);
}

async function* inPieces(archive: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < archive.length; at += 1000) yield archive.subarray(at, at + 1000);
}

async function adapterIn(archive: Uint8Array): Promise<LoraAdapter> {
  const to = mkdtempSync(join(folder.path, 'unpacked-'));
  await unpack(inPieces(archive), to);
  return adapterAt(to);
}

const tinyConfig: DecoderConfig = {
  ...{ architecture: 'llama', vocabSize: 20, hiddenSize: 8, layers: 1, heads: 2, kvHeads: 1 },
  ...{ intermediateSize: 12, ropeTheta: 10000, rmsEps: 1e-6 },
  ...{ attentionBias: false, tiedEmbeddings: true },
};
const made = { rank: 2, alpha: 4, base: 'b' };

test('an adapter is read back from its archive, wherever it is in it', async () => {
  const adapter = initialAdapter(tinyConfig, made, 3);
  mkdirSync(join(folder.path, 'snapshot'));
  await writeAdapter(join(folder.path, 'snapshot', 'adapter'), adapter);
  symlinkSync('/etc/passwd', join(folder.path, 'snapshot', 'link'));
  const found = await adapterIn(await packed(['snapshot']));
  expect([...found.modules.keys()].sort()).toEqual([...adapter.modules.keys()].sort());
  for (const [name, { a }] of adapter.modules) {
    expect(found.modules.get(name)!.a.data).toEqual(a.data);
  }
});

test('an archive without an adapter, or a file that is not an archive, is refused', async () => {
  writeFileSync(join(folder.path, 'notes.txt'), 'n');
  await expect(adapterIn(await packed(['notes.txt']))).rejects.toMatchObject({
    code: 'CHECKPOINT',
    message: expect.stringMatching(/it has notes\.txt, but no adapter_config\.json/),
  });
  for (const odd of [Buffer.from('hello'), (await packed(['notes.txt'])).subarray(0, 60)]) {
    await expect(adapterIn(odd)).rejects.toMatchObject({ code: 'CHECKPOINT' });
  }
});
