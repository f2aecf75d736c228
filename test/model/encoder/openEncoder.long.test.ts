/**
 * Encoders of texts: what transformers makes of the same folders, settings, and folders that cannot be used.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { EncoderOptions, TextEncoder } from '../../../model/encoder/encoder.ts';
import { openEncoder } from '../../../model/encoder/openEncoder.ts';
import { Graph } from '../../../model/graph/graph.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { texts, tinyEncoder } from '../../support/tinyEncoder.ts';

const want = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url), 'utf8')) as {
  readonly tokensMax: number;
  readonly vectors: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
};
const root = temporaryFolder();
const at = (name: string): string => join(root.path, name);
const { signal } = new AbortController();
const open: TextEncoder[] = [];

async function opened(folder: string, options: EncoderOptions = {}): Promise<TextEncoder> {
  const encoder = await openEncoder(folder, { threads: 1, ...options });
  open.push(encoder);
  return encoder;
}

function worst(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a).toHaveLength(b.length);
  return Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
}

beforeAll(async () => {
  await tinyEncoder(at('bert'), 'bert');
  await tinyEncoder(at('xlm-roberta'), 'xlm-roberta');
});
afterEach(async () => {
  for (const encoder of open.splice(0)) await encoder.close();
});
afterAll(() => root.remove());

describe('an encoder', () => {
  test.each(['bert', 'xlm-roberta'])(
    'of kind %s gives the vectors of transformers',
    async (family) => {
      for (const pooling of ['mean', 'cls'] as const) {
        const encoder = await opened(at(family), { pooling, tokensMax: want.tokensMax });
        const vectors = await encoder.encode(texts, 'query', signal);
        expect(encoder.dimensions).toBe(16);
        expect(worst(vectors, want.vectors[family]![pooling]!)).toBeLessThan(1e-4);
      }
    },
  );

  test('gives a text the same vector whatever else is in the batch', async () => {
    const encoder = await opened(at('bert'));
    const all = await encoder.encode(texts, 'passage', signal);
    for (const [i, text] of texts.entries()) {
      const alone = await encoder.encode([text], 'passage', signal);
      expect(worst(alone, all.subarray(i * 16, (i + 1) * 16))).toBeLessThan(1e-6);
    }
  });

  test('puts prefixes before queries and passages, and skips normalisation if requested', async () => {
    const plain = await opened(at('bert'), { normalised: false });
    const prefixed = await opened(at('bert'), {
      normalised: false,
      queryPrefix: 'who was ',
      passagePrefix: 'the river ',
    });
    const of = async (encoder: TextEncoder, text: string, as: 'query' | 'passage') => [
      ...(await encoder.encode([text], as, signal)),
    ];
    expect(await of(prefixed, 'Anna', 'query')).toEqual(await of(plain, 'who was Anna', 'passage'));
    expect(await of(prefixed, 'Anna', 'passage')).toEqual(
      await of(plain, 'the river Anna', 'query'),
    );
    const length = Math.hypot(...(await of(plain, 'Anna', 'query')));
    expect(Math.abs(length - 1)).toBeGreaterThan(0.01);
  });

  test('is read in half precision, under a prefix of names, with integer tensors of old files', async () => {
    const folder = await tinyEncoder(at('half'), 'bert', { dtype: 'F16', prefix: 'bert.' });
    withPositionIds(join(folder, 'model.safetensors'));
    const encoder = await opened(folder, { pooling: 'cls', tokensMax: want.tokensMax });
    const vectors = await encoder.encode(texts, 'query', signal);
    expect(worst(vectors, want.vectors.bert!.cls!)).toBeLessThan(3e-3);
  });

  test('takes settings that are given, then those of its folder, then those of E5 and BGE by name', async () => {
    const e5 = await tinyEncoder(at('e5-tiny'), 'bert', { pooling: 'mean' });
    expect((await opened(e5)).settings).toEqual({
      ...{
        pooling: 'mean',
        queryPrefix: 'query: ',
        passagePrefix: 'passage: ',
        normalised: true,
        tokensMax: 40,
      },
    });
    const bge = await tinyEncoder(at('bge-small-en-v1.5'), 'bert', { pooling: 'cls' });
    writeFileSync(join(bge, 'sentence_bert_config.json'), JSON.stringify({ max_seq_length: 24 }));
    const asked = 'Represent this sentence for searching relevant passages: ';
    const known = {
      pooling: 'cls',
      queryPrefix: asked,
      passagePrefix: '',
      normalised: true,
      tokensMax: 24,
    };
    expect((await opened(bge)).settings).toEqual(known);
    writeFileSync(
      join(bge, 'config_sentence_transformers.json'),
      JSON.stringify({ prompts: { query: 'q ', document: 'd ' } }),
    );
    expect((await opened(bge)).settings).toMatchObject({ queryPrefix: 'q ', passagePrefix: 'd ' });
    const given = { pooling: 'mean', queryPrefix: '', passagePrefix: 'x', tokensMax: 9 } as const;
    expect((await opened(bge, given)).settings).toMatchObject(given);
  });

  test('has a digest of its weights and tokenizer, not of its path', async () => {
    const same = await tinyEncoder(at('same'), 'bert');
    const other = await tinyEncoder(at('other'), 'bert', { seed: 8 });
    const [{ digest }, copy, different] = [
      await opened(at('bert')),
      await opened(same),
      await opened(other),
    ];
    expect(copy.digest).toBe(digest);
    expect(different.digest).not.toBe(digest);
  });

  test('of another architecture is run from its onnx/model.onnx', async () => {
    const folder = await tinyEncoder(at('mpnet'), 'bert');
    rmSync(join(folder, 'model.safetensors'));
    const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as object;
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...config, model_type: 'mpnet' }));
    await expect(openEncoder(folder)).rejects.toThrow(
      /model_type 'mpnet' is not implemented.*export the model to onnx\/model\.onnx/,
    );
    mkdirSync(join(folder, 'onnx'));
    const graph = new Graph();
    const ids = graph.input('input_ids', 'int64', ['B', 'T']);
    graph.input('attention_mask', 'int64', ['B', 'T']);
    const rows = Array.from({ length: 200 }, (_, i) => i % 7);
    const table = graph.reals(rows, [100, 2]);
    graph.output(
      'last_hidden_state',
      graph.node('Gather', [table, ids], ['B', 'T', 2], { type: 'float32' }),
    );
    writeFileSync(join(folder, 'onnx/model.onnx'), graph.model());
    const encoder = await opened(folder, { normalised: false, pooling: 'cls' });
    // [CLS] is token 2: numbers 4 and 5 of the table.
    expect([...(await encoder.encode(['a mill', 'x'], 'query', signal))]).toEqual([4, 5, 4, 5]);
  });

  test('stops between batches when its signal aborts', async () => {
    const encoder = await opened(at('bert'));
    const stopped = AbortSignal.abort(new Error('enough'));
    await expect(encoder.encode(['a'], 'query', stopped)).rejects.toThrow('enough');
  });

  test('that cannot be used is refused with the file and a remedy', async () => {
    await expect(openEncoder(at('nowhere'))).rejects.toThrow(/nowhere.config\.json cannot be read/);
    const folder = await tinyEncoder(at('broken'), 'bert');
    const path = join(folder, 'config.json');
    const config = JSON.parse(readFileSync(path, 'utf8')) as object;
    const say = (more: object): void => writeFileSync(path, JSON.stringify({ ...config, ...more }));
    say({ hidden_size: 32 });
    await expect(openEncoder(folder)).rejects.toThrow(
      /model\.safetensors: tensor 'embeddings\.word_embeddings\.weight' should be .*configuration and weights do not match/,
    );
    say({ position_embedding_type: 'relative_key' });
    await expect(openEncoder(folder)).rejects.toThrow(
      /config\.json: position_embedding_type 'relative_key' is not implemented/,
    );
    say({});
    writeFileSync(join(folder, 'tokenizer.json'), '{}');
    await expect(openEncoder(folder)).rejects.toThrow(
      /tokenizer\.json is not a readable tokenizer/,
    );
    await tinyEncoder(folder, 'bert');
    rmSync(join(folder, 'model.safetensors'));
    await expect(openEncoder(folder)).rejects.toThrow(
      /neither model\.safetensors nor onnx\/model\.onnx/,
    );
  });
});

/** Puts a tensor of 64-bit whole numbers after the others, as files of transformers 4 have it. */
function withPositionIds(path: string): void {
  const bytes = readFileSync(path);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<string, unknown>;
  const end = bytes.length - 8 - length;
  header['bert.embeddings.position_ids'] = {
    dtype: 'I64',
    shape: [1, 4],
    data_offsets: [end, end + 32],
  };
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  const data = bytes.subarray(8 + length);
  writeFileSync(path, Buffer.concat([size, text, data, Buffer.alloc(32)]));
}
