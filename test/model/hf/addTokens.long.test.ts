/** Tokens put into a checkpoint: their rows, the old ones, and the tokenizer that knows them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { main } from '../../../cli/program.ts';
import { type DecoderConfig, initialise } from '../../../model/config.ts';
import { addTokens } from '../../../model/hf/addTokens.ts';
import { openPolicy } from '../../../model/hf/loadPolicy.ts';
import { inMemory } from '../../../model/hf/tensorSource.ts';
import { writeFolder } from '../../../model/hf/writeFolder.ts';
import { loadTokenizer } from '../../../model/tokenizers/loadTokenizer.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { fakeIo } from '../../cli/support/fakeIo.ts';
import { writeByteBpe } from '../../support/byteBpe.ts';
import { temporaryFolder } from '../../support/folder.ts';

const root = temporaryFolder();
afterAll(() => root.remove());

const EMBEDDING = 'model.embed_tokens.weight';
const HEAD = 'lm_head.weight';
const BEFORE = 259; // bytes, one merge, two added tokens

let made = 0;
async function checkpoint(over: Partial<DecoderConfig> = {}, dtype: 'F32' | 'BF16' = 'F32') {
  const files = join(root.path, `tokenizer-${made}`);
  mkdirSync(files);
  writeByteBpe(files, '{{ messages[0].content }}', { merges: [['<', '/']] });
  const config: DecoderConfig = {
    architecture: 'qwen2',
    vocabSize: BEFORE,
    hiddenSize: 16,
    layers: 1,
    heads: 2,
    kvHeads: 1,
    intermediateSize: 32,
    ropeTheta: 10000,
    rmsEps: 1e-6,
    attentionBias: true,
    tiedEmbeddings: true,
    ...over,
  };
  const folder = join(root.path, `policy-${made++}`);
  await writeFolder(folder, config, inMemory(initialise(config, 3)), { dtype, tokenizer: files });
  return folder;
}

async function rows(folder: string, name: string): Promise<(row: number) => number[]> {
  const policy = await openPolicy(folder);
  const { shape, data } = await policy.read(name);
  await policy.close();
  const width = shape[1]!;
  return (row) => [...data.subarray(row * width, (row + 1) * width)];
}

describe('new tokens', () => {
  test.each([
    ['tied', { tiedEmbeddings: true }, [EMBEDDING]],
    ['untied', { tiedEmbeddings: false }, [EMBEDDING, HEAD]],
  ])(
    'begin as the mean of the tokens that spelt them in a %s checkpoint, and old rows stay',
    async (_, over, names) => {
      const folder = await checkpoint(over);
      const out = join(root.path, `out-${made}`);
      const { added, config } = await addTokens(folder, out, ['<b>', '</b>', '<|im_end|>', '<b>']);
      expect(added).toEqual([
        { text: '<b>', id: BEFORE },
        { text: '</b>', id: BEFORE + 1 },
      ]);
      expect(config.vocabSize).toBe(BEFORE + 2);
      const old = await loadTokenizer(folder);
      const pieces = [...old.encode('</b>')];
      expect(pieces).toHaveLength(3);
      for (const name of names) {
        const [was, is] = [await rows(folder, name), await rows(out, name)];
        for (let id = 0; id < BEFORE; id++) expect(is(id)).toEqual(was(id));
        const spelt = pieces.map(was);
        const mean = spelt[0]!.map((_, i) =>
          Math.fround(spelt.reduce((sum, row) => sum + row[i]!, 0) / spelt.length),
        );
        expect(is(BEFORE + 1)).toEqual(mean);
      }
      const tokenizer = await loadTokenizer(out);
      expect(tokenizer.vocabSize).toBe(BEFORE + 2);
      expect([...tokenizer.encode('a</b>')]).toEqual([97, BEFORE + 1]);
      expect([...tokenizer.encode('</b>', { tags: false })]).toEqual(pieces);
      expect(tokenizer.decode([BEFORE, BEFORE + 1])).toBe('<b></b>');
      expect(tokenizer.chat).toBe(true);
      expect(JSON.parse(readFileSync(join(out, 'config.json'), 'utf8')).vocab_size).toBe(
        BEFORE + 2,
      );
    },
  );

  test('use spare rows first, and keep the number format', async () => {
    const folder = await checkpoint({ vocabSize: 264 }, 'BF16');
    const out = join(root.path, `out-${made}`);
    const { config } = await addTokens(folder, out, ['<b>', '</b>']);
    expect(config.vocabSize).toBe(264);
    const policy = await openPolicy(out);
    expect(policy.tensors.get(EMBEDDING)).toMatchObject({ dtype: 'BF16', shape: [264, 16] });
    await policy.close();
    const [was, is] = [await rows(folder, EMBEDDING), await rows(out, EMBEDDING)];
    expect(is(263)).toEqual(was(263));
    expect(is(BEFORE)).not.toEqual(was(BEFORE));
  });

  test('change the probabilities of old tokens only by their own share', async () => {
    const folder = await checkpoint({ tiedEmbeddings: false });
    const out = join(root.path, `out-${made}`);
    await addTokens(folder, out, ['<b>', '</b>']);
    const sequence = Int32Array.from([4, 9, 70, 71, 3, 5]);
    const scores = [];
    for (const policy of [folder, out]) {
      const trainer = await EmbeddedTrainer.create({ policy, threads: 1 });
      scores.push([...(await trainer.score([sequence]))[0]!.logProbs.subarray(1)]);
      await trainer.close();
    }
    const [before, after] = scores as [number[], number[]];
    // Each is less probable, by what the two new tokens take.
    for (const [i, logProb] of before.entries()) {
      expect(after[i]!).toBeLessThan(logProb);
      expect(after[i]!).toBeGreaterThan(logProb - 0.05);
    }
  });

  test('are listed wherever a tokenizer lists added tokens', async () => {
    const folder = await checkpoint();
    const path = join(folder, 'tokenizer_config.json');
    const config = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...config, added_tokens_decoder: { 258: {} } }));
    writeFileSync(join(folder, 'added_tokens.json'), JSON.stringify({ '<|im_end|>': 257 }));
    const out = join(root.path, `out-${made}`);
    await addTokens(folder, out, ['<b>']);
    const read = (name: string) => JSON.parse(readFileSync(join(out, name), 'utf8'));
    expect(read('tokenizer_config.json').added_tokens_decoder).toMatchObject({
      258: {},
      [BEFORE]: { content: '<b>', special: false },
    });
    expect(read('added_tokens.json')).toEqual({ '<|im_end|>': 257, '<b>': BEFORE });
  });
});

describe('millrace model add-tags', () => {
  async function millrace(...args: string[]) {
    const io = fakeIo(root.path, 5000);
    const code = await main(['model', 'add-tags', ...args], io);
    return { code, out: io.stdout(), err: io.stderr().join('\n') };
  }

  test('says what it wrote, and overwrites nothing', async () => {
    const folder = await checkpoint();
    const out = join(root.path, `tagged-${made}`);
    const { code, out: said } = await millrace(folder, out, '--tags', 'think,search');
    expect(code).toBe(0);
    expect(said).toMatch(
      /a vocabulary of 263\nnew tokens: <think> 259, <\/think> 260, <search> 261/,
    );
    const again = await millrace(folder, out);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('already exists') });
    const other = await millrace(out, `${out}-2`, '--json');
    expect(JSON.parse(other.out).added).toHaveLength(6);
  });

  test('refuses what is not a tag, and a tokenizer whose tags are tokens already', async () => {
    const folder = await checkpoint();
    const odd = await millrace(folder, 'x', '--tags', 'a b');
    expect(odd).toMatchObject({
      code: 2,
      err: expect.stringContaining('"a b" is not a valid tag'),
    });
    const words = join(root.path, 'words');
    mkdirSync(words);
    const kind = { kind: 'words', tags: ['<|end|>'], symbols: [], words: [] };
    writeFileSync(join(words, 'tokenizer.json'), JSON.stringify(kind));
    const { err } = await millrace(words, 'y');
    expect(err).toContain('whose tags are already tokens');
  });
});
