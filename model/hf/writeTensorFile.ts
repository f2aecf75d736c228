/**
 * Writes a safetensors file a tensor at a time, in any of the three formats.
 *
 * The file is there whole or not at all: it is written under a temporary name, synced and renamed. The same
 * tensors give the same bytes. Beyond the current tensor, one chunk is held.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { about, MillraceError, syncFolder, unfinished } from '../../base/index.ts';
import type { Tensor } from '../config.ts';
import { checkpointError, shapeText } from './checkpointError.ts';
import { type Dtype, narrow, WIDTHS } from './dtypes.ts';

/** Numbers narrowed at once. */
const CHUNK = 1 << 20;

export interface WriteEntry {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: Dtype;
}

/** A file, or the files of a folder, as written. */
export interface WrittenFile {
  /** In hex. */
  readonly sha256: string;
  readonly bytes: number;
}

export interface Written extends WrittenFile {
  /** Finite numbers that became infinite in the narrower format. */
  readonly overflowed: number;
}

/**
 * Write `entries` in order; `read` gives each tensor when its turn comes. Rejects, and leaves no file
 * behind, when a tensor has another shape than its entry, or (code `DIGEST`) when the file would get another
 * digest than the one `expected`.
 */
export async function writeTensorFile(
  path: string,
  entries: readonly WriteEntry[],
  read: Read,
  metadata: Metadata,
  expected: string | null = null,
): Promise<Written> {
  return atomically(path, async (file) => {
    const hash = createHash('sha256');
    const put = async (piece: Uint8Array) => {
      hash.update(piece);
      await file.writeFile(piece);
    };
    const sizes = await putTensors({ path, entries, read, metadata }, put);
    const sha256 = hash.digest('hex');
    mustBe(expected, sha256, path);
    return { ...sizes, sha256 };
  });
}

type Read = (name: string) => Promise<Tensor> | Tensor;
type Metadata = Readonly<Record<string, string>>;

/** A file that does not exist yet. */
export interface TensorsToWrite {
  readonly path: string;
  readonly entries: readonly WriteEntry[];
  readonly read: Read;
  readonly metadata: Metadata;
}

/** The digest that the file will have. Fails with code `DIGEST` if another is `expected`. */
export async function digestOfTensors(
  tensors: TensorsToWrite,
  expected: string | null = null,
): Promise<string> {
  const hash = createHash('sha256');
  await putTensors(tensors, async (piece) => {
    hash.update(piece);
  });
  const sha256 = hash.digest('hex');
  mustBe(expected, sha256, tensors.path);
  return sha256;
}

/** Writes a file whose digest is known. */
export async function writeDigested(tensors: TensorsToWrite): Promise<void> {
  await atomically(tensors.path, (file) => putTensors(tensors, (piece) => file.writeFile(piece)));
}

function mustBe(expected: string | null, found: string, path: string): void {
  if (expected === null || found === expected) return;
  throw new MillraceError('DIGEST', `${path} would get digest ${found}, not ${expected}`, {
    context: { file: path, expected, found },
  });
}

async function putTensors(
  { path, entries, read, metadata }: TensorsToWrite,
  put: (piece: Uint8Array) => Promise<void>,
): Promise<Omit<Written, 'sha256'>> {
  let bytes = 0;
  let overflowed = 0;
  const counted = async (piece: Uint8Array) => {
    await put(piece);
    bytes += piece.length;
  };
  await counted(header(entries, metadata));
  for (const { name, shape, dtype } of entries) {
    const tensor = await read(name);
    if (tensor.shape.join() !== shape.join())
      throw checkpointError(
        `${path}: tensor '${name}' should be ${shapeText(shape)}, not ${shapeText(tensor.shape)}`,
        { file: path, tensor: name, expected: shape, found: tensor.shape },
      );
    overflowed += await putTensor(tensor.data, dtype, counted);
  }
  return { bytes, overflowed };
}

/** Returns how many finite numbers became infinite. */
async function putTensor(
  data: Float32Array,
  dtype: Dtype,
  put: (piece: Uint8Array) => Promise<void>,
): Promise<number> {
  if (dtype === 'F32') {
    await put(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    return 0;
  }
  const infinity = dtype === 'F16' ? 0x7c00 : 0x7f80;
  let overflowed = 0;
  for (let start = 0; start < data.length; start += CHUNK) {
    const values = data.subarray(start, start + CHUNK);
    const words = new Uint16Array(values.length);
    narrow(dtype, values, words);
    for (let i = 0; i < words.length; i++)
      if ((words[i]! & 0x7fff) === infinity && Number.isFinite(values[i]!)) overflowed++;
    await put(new Uint8Array(words.buffer));
  }
  return overflowed;
}

function header(entries: readonly WriteEntry[], metadata: Metadata): Uint8Array {
  const fields: Record<string, unknown> = { __metadata__: metadata };
  let end = 0;
  for (const { name, shape, dtype } of entries) {
    const bytes = shape.reduce((product, size) => product * size, 1) * WIDTHS[dtype];
    fields[name] = { dtype, shape, data_offsets: [end, end + bytes] };
    end += bytes;
  }
  const json = new TextEncoder().encode(JSON.stringify(fields));
  const length = Math.ceil(json.length / 8) * 8;
  const out = new Uint8Array(8 + length).fill(0x20, 8);
  new DataView(out.buffer).setBigUint64(0, BigInt(length), true);
  out.set(json, 8);
  return out;
}

/**
 * Runs `write` on a file with a temporary name, syncs it and renames it to `path`; if it fails nothing is
 * left.
 */
export async function atomically<Result>(
  path: string,
  write: (file: FileHandle) => Promise<Result>,
): Promise<Result> {
  const temporary = unfinished(path);
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx');
  try {
    const result = await write(file).finally(() => file.sync().finally(() => file.close()));
    await rename(temporary, path);
    await syncFolder(dirname(path));
    return result;
  } catch (error) {
    await rm(temporary, { force: true });
    throw about(path, error);
  }
}
