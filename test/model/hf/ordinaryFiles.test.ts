import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { digestAt } from '../../../model/checkpoints/digest.ts';
import { openPolicy } from '../../../model/hf/loadPolicy.ts';
import { loadTokenizer } from '../../../model/tokenizers/loadTokenizer.ts';
import { temporaryFolder } from '../../support/folder.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

const readers = { openPolicy, loadTokenizer, digestAt } as const;
const names = ['config.json', 'tokenizer.json', 'model.safetensors', 'chat/a.jinja'];

describe.each(Object.entries(readers))('%s', (_, read) => {
  test.each(names)('refuses a named pipe or a device as %s at once', async (name) => {
    const path = join(folder.path, name);
    mkdirSync(join(path, '..'), { recursive: true });
    expect(spawnSync('mkfifo', [path]).status).toBe(0);
    const refusal = { code: 'CHECKPOINT', message: expect.stringContaining(`${path} is neither`) };
    await expect(read(folder.path)).rejects.toMatchObject(refusal);
    await expect(read(path)).rejects.toMatchObject(refusal);
    const device = join(folder.path, 'model');
    mkdirSync(device);
    symlinkSync('/dev/zero', join(device, 'config.json'));
    await expect(read(device)).rejects.toThrow(/config\.json is neither a file nor a folder/);
  });
});

test('symbolic links to files are read, as in the cache of a hub', async () => {
  writeFileSync(join(folder.path, 'blob'), '{}');
  symlinkSync('blob', join(folder.path, 'config.json'));
  await expect(openPolicy(folder.path)).rejects.not.toThrow(/is neither a file nor a folder/);
});
