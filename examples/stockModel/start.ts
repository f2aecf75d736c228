/**
 * The first policy: the network of the quickstart's, as a Hugging Face folder of a Llama with a byte-level
 * tokenizer.
 *
 * A row of the embedding is that of the same word in the quickstart's vocabulary; a token that is not in it
 * begins as the mean of the tokens that spelt it. So names and digits keep what was learnt of them; tags do
 * not: they were tokens, now they are text.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadWordTokenizer, openPolicy, type Tokenizer } from 'millrace';
import { inMemory, loadTokenizer, type Tensor, writeFolder } from 'millrace/model';
import { vocabulary } from '../quickstart/world/vocabulary.ts';
import { writeTokenizer } from './tokenizer.ts';

const BASE = fileURLToPath(new URL('../quickstart/base', import.meta.url));
const EMBEDDING = 'model.embed_tokens.weight';
/** Positions that the folder claims; prompt and response together are shorter. */
const POSITIONS = 1024;
/** Servers like sizes that their kernels divide. */
const ROWS_MULTIPLE = 64;

/** What messages and tags are made of, besides the words of the world. */
const MORE_WORDS = [...'system user assistant think search python result answer'.split(' ')];
/** Pieces that a tag shares with its neighbours, as in the vocabularies of large models. */
const PIECES = [
  '</',
  '><',
  '></',
  '.</',
  ')</',
  '}</',
  '>I',
  '>So',
  '>Let',
  '>It',
  '>\n',
  '\\boxed',
];

/** Every text that is one token. */
export function texts(): readonly string[] {
  const words = vocabulary().words.filter((word) => /^\p{L}+$/u.test(word));
  return [...[...words, ...MORE_WORDS].flatMap((word) => [word, ` ${word}`]), ...PIECES];
}

/** Writes the folder, which must not exist. */
export async function writeStart(folder: string): Promise<void> {
  const files = `${folder}.tokenizer`;
  await writeTokenizer(files, texts());
  try {
    const tokenizer = await loadTokenizer(files);
    const words = await loadWordTokenizer(join(BASE, 'tokenizer.json'));
    const vocabSize = Math.ceil(tokenizer.vocabSize / ROWS_MULTIPLE) * ROWS_MULTIPLE;
    const policy = await openPolicy(join(BASE, 'policy.safetensors'));
    try {
      const tensors = new Map<string, Tensor>();
      for (const name of policy.tensors.keys()) tensors.set(name, await policy.read(name));
      const rows = carried(tensors.get(EMBEDDING)!, words, { tokenizer, vocabSize });
      tensors.set(EMBEDDING, rows);
      const config = { ...policy.config, vocabSize, maxPositions: POSITIONS };
      await writeFolder(folder, config, inMemory(tensors), { dtype: 'F32', tokenizer: files });
    } finally {
      await policy.close();
    }
  } finally {
    await rm(files, { recursive: true, force: true });
  }
}

interface NewRows {
  readonly tokenizer: Tokenizer;
  readonly vocabSize: number;
}

/** Rows for the new tokens out of those of the words. */
function carried(old: Tensor, words: Tokenizer, { tokenizer, vocabSize }: NewRows): Tensor {
  const width = old.shape[1]!;
  const data = new Float32Array(vocabSize * width);
  for (let token = 0; token < vocabSize; token++) {
    const from = sourcesOf(tokenizer.decode([token]), words);
    for (const source of from) {
      for (let i = 0; i < width; i++) {
        data[token * width + i]! += old.data[source * width + i]! / from.length;
      }
    }
  }
  return { shape: [vocabSize, width], data };
}

/** The words that said this; a space before a word was implied. */
function sourcesOf(text: string, words: Tokenizer): Int32Array {
  if (text === '<|im_start|>') return words.encode('<|question|>');
  if (text === '<|im_end|>') return words.encode('<|end|>');
  const spelt = words.encode(text.replace(/^ (?=\p{L})/u, ''), { tags: false });
  return spelt.length > 0 ? spelt : Int32Array.of(0);
}
