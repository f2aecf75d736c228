/** Folders made from GGUF files against transformers' own loader of them; skipped without it. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect } from '@jest/globals';
import { openGguf } from '../../../model/gguf/openGguf.ts';
import { loadTokenizer } from '../../../model/tokenizers/loadTokenizer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { yardstick } from '../../support/python.ts';
import { bytesOf, type Family, tiny } from './tinyGguf.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const script = fileURLToPath(new URL('yardstick.py', import.meta.url));
const withTransformers = yardstick(['torch', 'transformers', 'gguf']);

interface Facts {
  readonly digests: Readonly<Record<string, string>>;
  readonly ids: readonly (readonly number[])[];
  readonly chat: string;
}

const TEXTS = ['hello world', ' a\n\nb  c', '12 345', 'é 日本', '<|start|>hello<tool><|end|>'];

describe('a GGUF file', () => {
  for (const [family, pre] of [
    ['llama', 'llama-bpe'],
    ['llama', 'smollm'],
    ['qwen2', 'qwen2'],
    ['qwen3', 'qwen2'],
  ] as const satisfies readonly (readonly [Family, string])[])
    withTransformers(
      `of a ${family} with the tokenizer ${pre} has the weights, ids and chats of transformers' own loader`,
      async (python) => {
        const place = join(folder.path, `${family}-${pre}`);
        mkdirSync(place);
        const { metadata, tensors } = tiny(family, pre);
        writeFileSync(join(place, 'model.gguf'), bytesOf({ metadata, tensors }));
        const facts = python.run(script, place, 'model.gguf', JSON.stringify(TEXTS)) as Facts;

        const opened = await openGguf(join(place, 'model.gguf'));
        const digests: Record<string, string> = {};
        for (const name of opened.tensors.keys()) {
          const { data } = await opened.read(name);
          digests[name] = createHash('sha256').update(new Uint8Array(data.buffer)).digest('hex');
        }
        for (const [name, json] of opened.sideFiles(true))
          writeFileSync(join(place, name), JSON.stringify(json));
        await opened.close();
        expect(digests).toEqual(facts.digests);

        const tokenizer = await loadTokenizer(place);
        expect(TEXTS.map((text) => [...tokenizer.encode(text)])).toEqual(facts.ids);
        const chat = tokenizer.applyChatTemplate([{ role: 'user', content: 'hello' }]);
        expect(chat).toBe(facts.chat);
      },
    );
});
