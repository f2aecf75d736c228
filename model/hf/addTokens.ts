/**
 * New tokens for a checkpoint: a row of the embedding each (and of the head, if it has one of its own),
 * and their names in its tokenizer.
 *
 * A row begins as the mean of the rows of the tokens that spelt the text before, so that the policy reads
 * about what it read, and writes the token about as readily as its pieces (Hewitt 2021 on means of rows). A
 * head that is wider than its vocabulary has rows to spare; those are taken first, in the order in which
 * `transformers` gives ids. The tokens are added ones, not special: servers leave special tokens out of text.
 */
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DecoderConfig, Tensor } from '../config.ts';
import { type BpeTokenizer, bpeTokenizer } from './bpeTokenizer.ts';
import { checkpointError } from './checkpointError.ts';
import { openPolicy } from './loadPolicy.ts';
import { readJson } from './readJson.ts';
import type { TensorSource } from './tensorSource.ts';
import { CARRIED, type SavedFolder, writeFolder, writeJson } from './writeFolder.ts';

/** What was added, and the resulting folder. */
export interface AddedTokens {
  readonly saved: SavedFolder;
  readonly config: DecoderConfig;
  /** Texts that are new tokens, with their ids; those that were already tokens are left out. */
  readonly added: readonly { readonly text: string; readonly id: number }[];
}

/** Names of the tensors with a row for each token. */
const ROWS: readonly string[] = ['model.embed_tokens.weight', 'lm_head.weight'];

/**
 * Write the checkpoint in `folder`, with these texts as tokens, to `out`, which must not exist. Rejects with
 * `CHECKPOINT` or `TOKENIZER`.
 */
export async function addTokens(
  folder: string,
  out: string,
  texts: readonly string[],
): Promise<AddedTokens> {
  const path = join(folder, 'tokenizer.json');
  const json = (await readJson(path)) as Readonly<Record<string, unknown>>;
  if (json.kind === 'words')
    throw checkpointError(
      `${path} is one of our word vocabularies, whose tags are already tokens; create one with the tags you need`,
      { file: path },
    );
  const tokenizer = bpeTokenizer(path, json);
  const listed = (json.added_tokens ?? []) as readonly { readonly content: string }[];
  const known = new Set(listed.map(({ content }) => content));
  const missing = [...new Set(texts)].filter((text) => !known.has(text));
  const pieces = new Map(
    missing.map((text) => [text, [...tokenizer.encode(text, { tags: false })]] as const),
  );
  const added = [...pieces.keys()].map((text, i) => ({ text, id: tokenizer.vocabSize + i }));
  const policy = await openPolicy(folder);
  const files = await mkdtemp(join(tmpdir(), 'millrace-tokens-'));
  try {
    if (policy.kind !== 'folder')
      throw checkpointError(`${folder} is not a Hugging Face folder: give one`, { file: folder });
    const vocabSize = Math.max(policy.config.vocabSize, tokenizer.vocabSize + added.length);
    const config = { ...policy.config, vocabSize };
    await writeTokenizer(folder, files, json, added);
    const source = withRows(policy, vocabSize, rowsOf(tokenizer, pieces));
    const options = { dtype: 'keep' as const, like: folder, tokenizer: files };
    return { saved: await writeFolder(out, config, source, options), config, added };
  } finally {
    await rm(files, { recursive: true, force: true });
    await policy.close();
  }
}

/** Row by row: the id, and the rows whose mean it starts as. */
function rowsOf(
  tokenizer: BpeTokenizer,
  pieces: ReadonlyMap<string, readonly number[]>,
): ReadonlyMap<number, readonly number[]> {
  return new Map([...pieces.values()].map((of, i) => [tokenizer.vocabSize + i, of]));
}

/** The tensors with these rows inserted, as many as `vocabSize`. */
function withRows(
  source: TensorSource,
  vocabSize: number,
  rows: ReadonlyMap<number, readonly number[]>,
): TensorSource {
  const tensors = [...source.tensors].map(([name, info]) => {
    if (!ROWS.includes(name)) return [name, info] as const;
    const [before = 0, width = 0] = info.shape;
    const bytes = before === 0 ? 0 : (info.bytes / before) * vocabSize;
    return [name, { ...info, shape: [vocabSize, width], bytes }] as const;
  });
  return {
    tensors: new Map(tensors),
    async read(name) {
      const tensor = await source.read(name);
      return ROWS.includes(name) ? grown(tensor, vocabSize, rows) : tensor;
    },
    close: () => source.close(),
  };
}

function grown(
  { shape: [, width = 0], data }: Tensor,
  vocabSize: number,
  rows: ReadonlyMap<number, readonly number[]>,
): Tensor {
  const all = new Float32Array(vocabSize * width);
  all.set(data);
  for (const [id, pieces] of rows) {
    const sums = new Float64Array(width);
    for (const piece of pieces) {
      for (let i = 0; i < width; i++) sums[i]! += data[piece * width + i]!;
    }
    for (let i = 0; i < width; i++) all[id * width + i] = sums[i]! / pieces.length;
  }
  return { shape: [vocabSize, width], data: all };
}

type Json = Readonly<Record<string, unknown>>;
type Added = AddedTokens['added'];

/** The tokenizer's files, with the tokens in each file that lists added ones. */
async function writeTokenizer(
  folder: string,
  files: string,
  json: Json,
  added: Added,
): Promise<void> {
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const entries = added.map(({ text, id }) => ({ id, content: text, ...flags, special: false }));
  const before = (json.added_tokens as readonly unknown[] | undefined) ?? [];
  await writeJson(join(files, 'tokenizer.json'), {
    ...json,
    added_tokens: [...before, ...entries],
  });
  const names = new Set(await readdir(folder));
  for (const name of CARRIED) {
    if (!names.has(name) || name === 'tokenizer.json') continue;
    const [from, to] = [join(folder, name), join(files, name)];
    if (name === 'added_tokens.json') {
      const list = (await readJson(from)) as Json;
      const more = Object.fromEntries(added.map(({ text, id }) => [text, id]));
      await writeJson(to, { ...list, ...more });
    } else if (name === 'tokenizer_config.json') {
      const config = (await readJson(from)) as Json;
      const known = config.added_tokens_decoder as Json | undefined;
      const more = entries.map(({ id, ...entry }) => [String(id), entry] as const);
      const decoder =
        known === undefined
          ? {}
          : { added_tokens_decoder: { ...known, ...Object.fromEntries(more) } };
      await writeJson(to, { ...config, ...decoder });
    } else await cp(from, to, { recursive: true, dereference: true });
  }
}
