/** The files that a Hugging Face folder has besides its weights, from the metadata of a GGUF file. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Metadata, openGgufFile } from '../../../model/gguf/ggufFile.ts';
import { sideFiles } from '../../../model/gguf/sideFiles.ts';
import { loadTokenizer } from '../../../model/tokenizers/loadTokenizer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { type GgufValue, ggufBytes } from '../../support/ggufBytes.ts';
import { TEMPLATE, tiny } from './tinyGguf.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const VOCABULARY = 300;

let files = 0;
async function metadataOf(values: Readonly<Record<string, GgufValue>>): Promise<Metadata> {
  const path = join(folder.path, `${files++}.gguf`);
  writeFileSync(path, ggufBytes(values, []));
  const file = await openGgufFile(path);
  await file.close();
  return file.metadata;
}

async function filesOf(values: Readonly<Record<string, GgufValue>>) {
  return sideFiles('model.gguf', await metadataOf(values), VOCABULARY, true);
}

async function tokenizerOf(values: Readonly<Record<string, GgufValue>>) {
  const path = join(folder.path, `folder${files++}`);
  mkdirSync(path);
  for (const [name, json] of await filesOf(values))
    writeFileSync(join(path, name), JSON.stringify(json));
  return loadTokenizer(path);
}

const pieces = (pre: string, text: string) =>
  tokenizerOf(tiny('llama', pre).metadata).then((tokenizer) =>
    [...tokenizer.encode(text)].map((id) => tokenizer.decode([id])),
  );

describe('the tokenizer of a GGUF file', () => {
  test('merges, finds its tags, and gives every text back', async () => {
    const tokenizer = await tokenizerOf(tiny('llama').metadata);
    const text = 'hello world é\n\n12 <tool><|end|>';
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    expect([...tokenizer.encode('hello<|end|>')]).toHaveLength(2);
    expect(tokenizer.markers).toEqual(['<|start|>', '<|end|>']);
    expect(tokenizer.endTokens).toEqual([1]);
    expect(tokenizer.startToken).toBe(0);
  });

  test('has the chat template', async () => {
    const tokenizer = await tokenizerOf(tiny('llama').metadata);
    const text = tokenizer.applyChatTemplate([{ role: 'user', content: 'hello' }]);
    expect(text).toBe('<|start|>user\nhello<|end|>');
  });

  test('has several templates by their names', async () => {
    const { metadata } = tiny('llama');
    const more = { ...metadata, 'tokenizer.chat_template.tool_use': 'with tools' };
    const config = (await filesOf(more)).get('tokenizer_config.json');
    expect(config).toMatchObject({
      chat_template: [
        { name: 'default', template: TEMPLATE },
        { name: 'tool_use', template: 'with tools' },
      ],
    });
  });

  test('of SmolLM2 cuts digits off first, as its own tokenizer does', async () => {
    expect(await pieces('gpt-2', 'a\n\n12')).toEqual(['a', '\n', '\n', '1', '2']);
    expect(await pieces('smollm', 'a\n\n12')).toEqual(['a', '\n\n', '1', '2']);
    // of every script, and fractions
    expect(await pieces('gpt-2', ' ½')).toHaveLength(2);
    expect(await pieces('smollm', ' ½')).toHaveLength(3);
  });

  test('of Qwen2 composes characters first, as its own tokenizer does', async () => {
    const tokenizer = await tokenizerOf(tiny('llama', 'qwen2').metadata);
    expect(tokenizer.encode('e\u0301')).toEqual(tokenizer.encode('\u00e9'));
  });

  test('of Llama 3 begins texts of other programs with its start token', async () => {
    const file = (await filesOf(tiny('llama', 'llama-bpe').metadata)).get('tokenizer.json');
    expect(file).toMatchObject({
      model: { ignore_merges: true },
      post_processor: { special_tokens: { '<|start|>': { ids: [0] } } },
    });
  });

  test('of Llama 2 has merges by its scores', async () => {
    const bytes = Array.from(
      { length: 256 },
      (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
    );
    const letters = ['▁', 'h', 'e', 'l', 'o', 'he', 'll', '▁he', 'llo', '▁hello'];
    const tokens = ['<unk>', '<s>', '</s>', ...bytes, ...letters];
    const kinds = tokens.map((_, id) => (id === 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1));
    const tokenizer = await tokenizerOf({
      'tokenizer.ggml.model': 'llama',
      'tokenizer.ggml.tokens': tokens,
      'tokenizer.ggml.token_type': { i32s: kinds },
      'tokenizer.ggml.scores': { f32s: tokens.map((_, id) => (id < 259 ? 0 : 259 - id)) },
      'tokenizer.ggml.bos_token_id': { u32: 1 },
      'tokenizer.ggml.eos_token_id': { u32: 2 },
    });
    expect([...tokenizer.encode('hello')]).toEqual([tokens.indexOf('▁hello')]);
    expect(tokenizer.decode(tokenizer.encode('hello hé'))).toBe('hello hé');
  });

  test.each<[string, Record<string, GgufValue>, RegExp]>([
    [
      'a cut that is not known',
      { 'tokenizer.ggml.pre': 'tekken' },
      /pre-tokenizer is tekken; supported/,
    ],
    [
      'another kind',
      { 'tokenizer.ggml.model': 't5' },
      /of the kind t5; supported are gpt2 and llama/,
    ],
    ['a name of every object', { 'tokenizer.ggml.model': 'constructor' }, /kind constructor/],
    ['no vocabulary', { 'tokenizer.ggml.tokens': 'none' }, /no vocabulary/],
    ['a token twice', { 'tokenizer.ggml.tokens': ['a', 'a'], ...untyped() }, /a duplicate token/],
    ['kinds of other tokens', { 'tokenizer.ggml.token_type': { i32s: [1] } }, /a number for each/],
    ['no merges', { 'tokenizer.ggml.merges': 'none' }, /no merges/],
    ['a merge of one', { 'tokenizer.ggml.merges': ['hello'] }, /'hello' is not a merge/],
  ])('with %s is refused, and the error says what to do', async (_, changed, message) => {
    const refused = filesOf({ ...tiny('llama').metadata, ...changed });
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toThrow(/--tokenizer FOLDER/);
  });

  test('with more tokens than embeddings is refused', async () => {
    const metadata = await metadataOf(tiny('llama').metadata);
    expect(() => sideFiles('model.gguf', metadata, 100, true)).toThrow(/embeddings of 100/);
    expect([...sideFiles('model.gguf', metadata, 100, false).keys()]).toEqual([
      'config.json',
      'generation_config.json',
    ]);
  });

  test('ends turns with each of its end tokens', async () => {
    const { metadata } = tiny('llama');
    const more = { ...metadata, 'tokenizer.ggml.eot_token_id': { u32: 2 } };
    const generation = (await filesOf(more)).get('generation_config.json');
    expect(generation).toEqual({ bos_token_id: 0, eos_token_id: [1, 2] });
  });
});

function untyped(): Record<string, GgufValue> {
  return { 'tokenizer.ggml.token_type': { i32s: [] } };
}
