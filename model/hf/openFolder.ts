/**
 * A Hugging Face folder, open for reading: `config.json`, and weights in `model.safetensors` or in the shards
 * that `model.safetensors.index.json` lists.
 *
 * Opening reads headers alone and checks that index, shards and configuration agree; tensors are read on
 * demand.
 */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { DecoderConfig } from '../config.ts';
import { checkpointError } from './checkpointError.ts';
import { readDecoderConfig } from './decoderConfig.ts';
import { CONFIG_FILE, INDEX_FILE, WEIGHTS_FILE } from './folderFiles.ts';
import { readJson } from './readJson.ts';
import { openTensorFile, type TensorFile, type TensorInfo } from './tensorFile.ts';
import type { TensorSource } from './tensorSource.ts';

export interface OpenFolder extends TensorSource {
  readonly config: DecoderConfig;
  /** `config.json` as it was read. */
  readonly json: Readonly<Record<string, unknown>>;
  /** The open weight files, in the order of their names. */
  readonly files: readonly TensorFile[];
}

/**
 * Open a folder. Rejects when a file is missing, cut short or does not agree with the index; whether the
 * tensors are the decoder's parameters is for `checkParameters`.
 */
export async function openFolder(folder: string): Promise<OpenFolder> {
  const json = (await readJson(join(folder, CONFIG_FILE))) as Record<string, unknown>;
  const config = readDecoderConfig(join(folder, CONFIG_FILE), json);
  const index = await findWeights(folder);
  const files: TensorFile[] = [];
  try {
    for (const name of index.files) files.push(await openTensorFile(join(folder, name)));
    const owners = ownersOf(files, index, folder);
    return { config, json, files, ...sourceOf(folder, owners, files) };
  } catch (error) {
    await Promise.all(files.map((file) => file.close()));
    throw error;
  }
}

interface Weights {
  readonly files: readonly string[];
  /** Name of a tensor to name of its file; null = one file, no index. */
  readonly places: ReadonlyMap<string, string> | null;
}

const indexFile = z.looseObject({
  weight_map: z
    .record(z.string(), z.string())
    .refine((map) => Object.keys(map).length > 0, 'it is empty'),
});

async function findWeights(folder: string): Promise<Weights> {
  const there = new Set(await readdir(folder));
  if (there.has(INDEX_FILE)) {
    const path = join(folder, INDEX_FILE);
    const parsed = indexFile.safeParse(await readJson(path));
    if (!parsed.success)
      throw checkpointError(`${path} has no weight_map of names to files: save it again`, {
        file: path,
      });
    const places = new Map(Object.entries(parsed.data.weight_map));
    for (const [tensor, file] of places)
      if (file !== basename(file) || !there.has(file))
        throw checkpointError(
          `${path}: tensor '${tensor}' should be in ${file}, which is not in the folder: copy all shards`,
          { file: path, tensor, expected: file },
        );
    return { files: [...new Set(places.values())].sort(), places };
  }
  if (there.has(WEIGHTS_FILE)) return { files: [WEIGHTS_FILE], places: null };
  const pickled = [...there].find((name) => /\.bin$|\.pth?$/.test(name));
  throw checkpointError(
    `${folder} has neither ${WEIGHTS_FILE} nor ${INDEX_FILE}${
      pickled === undefined
        ? ': is it a checkpoint folder?'
        : `; ${pickled} is not supported: save the model as safetensors`
    }`,
    { file: folder },
  );
}

/** The open file that has a tensor. Throws if index and files disagree. */
function ownersOf(
  files: readonly TensorFile[],
  { places }: Weights,
  folder: string,
): ReadonlyMap<string, TensorFile> {
  const owners = new Map<string, TensorFile>();
  const byName = new Map(files.map((file) => [basename(file.path), file]));
  for (const file of files)
    for (const tensor of file.tensors.keys()) {
      const other = owners.get(tensor);
      if (other !== undefined)
        throw checkpointError(
          `${folder}: tensor '${tensor}' is in ${basename(other.path)} and in ${basename(file.path)}`,
          { file: file.path, tensor },
        );
      owners.set(tensor, file);
    }
  if (places === null) return owners;
  for (const [tensor, file] of places)
    if (owners.get(tensor) !== byName.get(file))
      throw checkpointError(
        `${join(folder, file)} has no tensor '${tensor}', which the index lists there: the shards are from different saves`,
        { file: join(folder, file), tensor, expected: file },
      );
  for (const [tensor, file] of owners)
    if (!places.has(tensor))
      throw checkpointError(
        `${file.path} has a tensor '${tensor}' that is not in the index: the shards are from different saves`,
        { file: file.path, tensor },
      );
  return owners;
}

function sourceOf(
  folder: string,
  owners: ReadonlyMap<string, TensorFile>,
  files: readonly TensorFile[],
): TensorSource {
  const tensors = new Map<string, TensorInfo>();
  for (const [name, file] of owners) tensors.set(name, file.tensors.get(name)!);
  return {
    tensors,
    read(name) {
      const file = owners.get(name);
      if (file !== undefined) return file.read(name);
      return Promise.reject(
        checkpointError(`${folder} has no tensor '${name}'`, { file: folder, tensor: name }),
      );
    },
    close: async () => {
      await Promise.all(files.map((file) => file.close()));
    },
  };
}
