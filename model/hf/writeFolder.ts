/**
 * Writes a Hugging Face folder that transformers and our own reader load: `config.json`, weights (sharded
 * beyond a size), generation settings and tokenizer files.
 *
 * The folder is there whole or not at all, and never written over (newFolder.ts).
 */
import { createHash } from 'node:crypto';
import { cp, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type DecoderConfig, parameterShapes } from '../config.ts';
import { writeDecoderConfig } from './decoderConfig.ts';
import { type Dtype, TORCH_NAMES, WIDTHS } from './dtypes.ts';
import { CONFIG_FILE, digestOf, INDEX_FILE, WEIGHTS_FILE } from './folderFiles.ts';
import { newFolder } from './newFolder.ts';
import { checkParameters } from './parameters.ts';
import { readJson } from './readJson.ts';
import type { TensorSource } from './tensorSource.ts';
import {
  atomically,
  type WriteEntry,
  type WrittenFile,
  writeTensorFile,
} from './writeTensorFile.ts';

/** What is copied unchanged from another folder, besides the fields of its `config.json`. */
export const CARRIED: readonly string[] = [
  'added_tokens.json',
  'additional_chat_templates',
  'chat_template.jinja',
  'chat_template.json',
  'generation_config.json',
  'merges.txt',
  'special_tokens_map.json',
  'tokenizer.json',
  'tokenizer.model',
  'tokenizer_config.json',
  'vocab.json',
];

/** The number format and the size of the shards, and where the files beside the weights come from. */
export interface FolderOptions {
  /** The format of every tensor, or `keep`: that which it had in its source. */
  readonly dtype: Dtype | 'keep';
  /**
   * Bytes of weights at which a new shard begins; a larger tensor has a shard of its own. 5e9 if left out.
   */
  readonly shardBytesMax?: number;
  /** Folder whose tokenizer, generation settings and other fields of `config.json` are copied along. */
  readonly like?: string;
  /** Folder whose tokenizer files are taken instead of those of `like`. */
  readonly tokenizer?: string;
}

/** The folder as written: its digest (`digestOf`), the bytes of its weights and the names of its files. */
export interface SavedFolder extends WrittenFile {
  /** Finite numbers that became infinite in the narrower format. */
  readonly overflowed: number;
  readonly files: readonly string[];
}

/**
 * Write a checkpoint. Rejects, and leaves nothing behind, when `path` exists or the source's tensors are not
 * the decoder's parameters. The digest is that of `digestOf`.
 */
export async function writeFolder(
  path: string,
  config: DecoderConfig,
  source: TensorSource,
  options: FolderOptions,
): Promise<SavedFolder> {
  checkParameters(path, config, source.tensors);
  return newFolder(path, (folder) => fill(folder, config, source, options));
}

async function fill(
  folder: string,
  config: DecoderConfig,
  source: TensorSource,
  { dtype, shardBytesMax = 5e9, like, tokenizer }: FolderOptions,
): Promise<SavedFolder> {
  const entries = [...parameterShapes(config)].map(([name, shape]) => ({
    name,
    shape,
    dtype: dtype === 'keep' ? source.tensors.get(name)!.dtype : dtype,
  }));
  const before = like === undefined ? {} : await readJson(join(like, CONFIG_FILE));
  const digests = new Map<string, string>();
  const json = writeDecoderConfig(
    config,
    TORCH_NAMES[entries[0]!.dtype],
    before as Record<string, unknown>,
  );
  digests.set(CONFIG_FILE, await writeJson(join(folder, CONFIG_FILE), json));
  const shards = split(entries, shardBytesMax);
  let bytes = 0;
  let overflowed = 0;
  for (const [name, tensors] of shards) {
    const read = (tensor: string) => source.read(tensor);
    const written = await writeTensorFile(join(folder, name), tensors, read, { format: 'pt' });
    digests.set(name, written.sha256);
    bytes += written.bytes;
    overflowed += written.overflowed;
  }
  if (shards.size > 1) await writeJson(join(folder, INDEX_FILE), indexOf(shards));
  const carried = await carry(folder, like, tokenizer);
  const index = shards.size > 1 ? [INDEX_FILE] : [];
  const files = [...digests.keys(), ...index, ...carried];
  return { sha256: digestOf(digests), bytes, overflowed, files };
}

function sizeOf({ shape, dtype }: WriteEntry): number {
  return shape.reduce((product, size) => product * size, 1) * WIDTHS[dtype];
}

/** Entries by file name, in order. */
function split(
  entries: readonly WriteEntry[],
  bytesMax: number,
): ReadonlyMap<string, readonly WriteEntry[]> {
  const shards: WriteEntry[][] = [[]];
  let bytes = 0;
  for (const entry of entries) {
    if (bytes > 0 && bytes + sizeOf(entry) > bytesMax) {
      shards.push([]);
      bytes = 0;
    }
    shards.at(-1)!.push(entry);
    bytes += sizeOf(entry);
  }
  if (shards.length === 1) return new Map([[WEIGHTS_FILE, shards[0]!]]);
  const number = (value: number) => String(value).padStart(5, '0');
  return new Map(
    shards.map((shard, i) => [
      `model-${number(i + 1)}-of-${number(shards.length)}.safetensors`,
      shard,
    ]),
  );
}

function indexOf(shards: ReadonlyMap<string, readonly WriteEntry[]>): unknown {
  const places = [...shards].flatMap(([file, entries]) =>
    entries.map((entry) => ({ file, entry, bytes: sizeOf(entry) })),
  );
  return {
    metadata: { total_size: places.reduce((sum, { bytes }) => sum + bytes, 0) },
    weight_map: Object.fromEntries(places.map(({ file, entry }) => [entry.name, file])),
  };
}

/** Returns the file's sha256. */
export async function writeJson(path: string, value: unknown): Promise<string> {
  const text = `${JSON.stringify(value, null, 2)}\n`;
  await atomically(path, (file) => file.writeFile(text));
  return createHash('sha256').update(text).digest('hex');
}

/** Copies the side files; returns their names. */
async function carry(
  folder: string,
  like: string | undefined,
  tokenizer: string | undefined,
): Promise<readonly string[]> {
  const there = async (from: string) => {
    const names = new Set(await readdir(from));
    return CARRIED.filter((name) => names.has(name));
  };
  const isTokenizer = (name: string) => name !== 'generation_config.json';
  const places = new Map<string, string>();
  if (like !== undefined)
    for (const name of await there(like))
      if (tokenizer === undefined || !isTokenizer(name)) places.set(name, join(like, name));
  if (tokenizer !== undefined)
    for (const name of (await there(tokenizer)).filter(isTokenizer))
      places.set(name, join(tokenizer, name));
  for (const [name, from] of places) await copy(from, join(folder, name));
  return [...places.keys()];
}

async function copy(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, dereference: true });
  const copied = await open(to, 'r');
  await copied.sync().finally(() => copied.close());
}
