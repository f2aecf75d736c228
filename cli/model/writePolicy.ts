/**
 * Writes a policy to the user's destination: a name that ends in `.safetensors` is our single file, any other
 * a folder.
 */
import { stat } from 'node:fs/promises';
import { jsonText } from '../../base/terminal/index.ts';
import { thousands } from '../../base/text/index.ts';
import {
  checkpointError,
  DTYPES,
  type Dtype,
  type FolderOptions,
  type TensorSource,
  writeFolder,
  writeTensorFile,
} from '../../model/hf/index.ts';
import { type DecoderConfig, parameterShapes } from '../../model/index.ts';
import { exitCodes } from '../failure.ts';
import type { Io } from '../io.ts';

export interface Destination extends FolderOptions {
  /** Absolute. */
  readonly path: string;
  readonly json: boolean;
}

/** Writes, then prints what was written. Never overwrites anything. */
export async function writePolicy(
  config: DecoderConfig,
  source: TensorSource,
  { path, json, ...options }: Destination,
  io: Io,
): Promise<number> {
  const oneFile = path.endsWith('.safetensors');
  const { sha256, bytes, overflowed } = oneFile
    ? await writeOneFile(path, config, source, options.dtype)
    : await writeFolder(path, config, source, options);
  if (oneFile && options.tokenizer !== undefined)
    io.err('a single file has no tokenizer: keep its folder, or write a folder');
  if (overflowed > 0)
    io.err(
      `${overflowed} numbers were too large for the format and became infinite: use bf16 or f32`,
    );
  const kind = oneFile ? 'file' : 'folder';
  const parameters = parameterCount(config);
  const text = json
    ? jsonText({ path, kind, config, parameters, bytes, sha256, overflowed })
    : `wrote ${path}: ${kind}, ${thousands(parameters)} parameters, ${thousands(bytes)} bytes of weights\nsha256 ${sha256}`;
  await io.out(`${text}\n`);
  return exitCodes.done;
}

export function parameterCount(config: DecoderConfig): number {
  let count = 0;
  for (const shape of parameterShapes(config).values())
    count += shape.reduce((product, size) => product * size, 1);
  return count;
}

async function writeOneFile(
  path: string,
  config: DecoderConfig,
  source: TensorSource,
  dtype: Dtype | 'keep',
) {
  if ((await stat(path).catch(() => null)) !== null)
    throw checkpointError(`${path} already exists and will not be overwritten: choose a new name`, {
      file: path,
    });
  const entries = [...parameterShapes(config)].map(([name, shape]) => ({
    name,
    shape,
    dtype: dtype === 'keep' ? source.tensors.get(name)!.dtype : dtype,
  }));
  const metadata = { config: JSON.stringify(config) };
  return writeTensorFile(path, entries, (name) => source.read(name), metadata);
}

/** The values of `--dtype`. */
export const dtypeNames: readonly string[] = ['f32', 'f16', 'bf16'];

export function dtypeNamed(name: string): Dtype {
  return DTYPES[name]!;
}
