/**
 * One safetensors file on disk, read a tensor at a time.
 *
 * Opening reads and checks the header alone: every entry's type, shape and place, that no two share a name or
 * a byte, and that the entries fill the file to its last byte, so a file that was cut short or overwritten in
 * its header is refused before anything is used. Beyond the tensor that is read, a read holds one chunk of
 * `CHUNK_BYTES`. Layout: 8 bytes header length (little-endian), a JSON header {name: {dtype, shape,
 * data_offsets}}, the data.
 */
import type { Hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { outsideText } from '../../base/index.ts';
import type { Tensor } from '../config.ts';
import { checkpointError } from './checkpointError.ts';
import { type Dtype, isDtype, WIDTHS, widen } from './dtypes.ts';
import { nameTwice } from './twice.ts';

const HEADER_BYTES_MAX = 100_000_000;
const CHUNK_BYTES = 4 << 20;

/** A tensor in a file. */
export interface TensorInfo {
  readonly shape: readonly number[];
  readonly dtype: Dtype;
  /** Bytes in the file. */
  readonly bytes: number;
}

export interface TensorFile {
  readonly path: string;
  /** In the order of their data. */
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  /** The header's `__metadata__`; empty if there is none. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Read one tensor, widened to float32. Rejects if there is none of this name or the file has changed. */
  read(name: string): Promise<Tensor>;
  /**
   * Read all, in the order of their data, and pass the file's bytes through `hash` on the way: one pass over
   * the file with or without its digest.
   */
  readAll(hash?: Hash): AsyncGenerator<readonly [name: string, tensor: Tensor]>;
  close(): Promise<void>;
}

interface Place extends TensorInfo {
  /** Offset in the file. */
  readonly at: number;
}

/**
 * Open a file. Rejects with a `CHECKPOINT` error if it is missing or is not a whole safetensors file.
 * `passed` names tensors that are not wanted and may be of any type: they are in the file, and not in
 * `tensors`.
 */
export async function openTensorFile(
  path: string,
  passed: (name: string) => boolean = () => false,
): Promise<TensorFile> {
  const file = await open(path, 'r').catch((cause) => {
    throw checkpointError(
      `${path} cannot be opened (${(cause as NodeJS.ErrnoException).code ?? cause}): check the path`,
      { file: path },
      cause,
    );
  });
  try {
    const head = await readHeader(path, file, passed);
    return tensorFile(path, file, head);
  } catch (error) {
    await file.close();
    throw error;
  }
}

interface Head {
  readonly raw: Uint8Array;
  /** Includes unwanted ones. */
  readonly places: ReadonlyMap<string, Place>;
  readonly passed: (name: string) => boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

function tensorFile(
  path: string,
  file: FileHandle,
  { raw, places, passed, metadata }: Head,
): TensorFile {
  const tensors = new Map([...places].filter(([name]) => !passed(name)));
  return {
    path,
    tensors,
    metadata,
    read(name) {
      const place = tensors.get(name);
      if (place !== undefined) return readTensor(path, file, name, place);
      return Promise.reject(
        checkpointError(`${path} has no tensor '${name}'`, { file: path, tensor: name }),
      );
    },
    async *readAll(hash) {
      hash?.update(raw);
      for (const [name, place] of places) {
        const tensor = await readTensor(path, file, name, place, hash);
        if (!passed(name)) yield [name, tensor];
      }
    },
    close: () => file.close(),
  };
}

async function readTensor(
  path: string,
  file: FileHandle,
  name: string,
  { shape, dtype, bytes, at }: Place,
  hash?: Hash,
): Promise<Tensor> {
  const data = new Float32Array(bytes / WIDTHS[dtype]);
  const cutShort = () =>
    checkpointError(`${path} ends inside tensor '${name}': copy the file again`, {
      file: path,
      tensor: name,
    });
  const fill = async (into: Uint8Array, from: number) => {
    for (let done = 0; done < into.length; ) {
      const { bytesRead } = await file.read(into, done, into.length - done, from + done);
      if (bytesRead === 0) throw cutShort();
      done += bytesRead;
    }
    hash?.update(into);
  };
  const chunk = dtype === 'F32' ? null : new Uint8Array(Math.min(bytes, CHUNK_BYTES));
  for (let start = 0; start < bytes; start += CHUNK_BYTES) {
    const size = Math.min(CHUNK_BYTES, bytes - start);
    if (dtype === 'F32') await fill(new Uint8Array(data.buffer, start, size), at + start);
    else {
      const piece = chunk!.subarray(0, size);
      await fill(piece, at + start);
      const words = new Uint16Array(piece.buffer, 0, size / 2);
      widen(dtype, words, data.subarray(start / 2, (start + size) / 2));
    }
  }
  return { shape, data };
}

async function readHeader(
  path: string,
  file: FileHandle,
  passed: (name: string) => boolean,
): Promise<Head> {
  const { size } = await file.stat();
  const no = (why: string, cause?: unknown) =>
    checkpointError(
      `${path} is not a complete safetensors file: ${why}; copy or save it again`,
      { file: path },
      cause,
    );
  const lengthBytes = new Uint8Array(8);
  const { bytesRead } = await file.read(lengthBytes, 0, 8, 0);
  if (bytesRead < 8) throw no(`it has ${size} bytes`);
  if (String.fromCharCode(...lengthBytes.subarray(0, 4)) === 'GGUF')
    throw checkpointError(
      `${path} is a GGUF file: convert it (millrace model convert ${path} FOLDER) and name that folder`,
      { file: path },
    );
  const length = Number(new DataView(lengthBytes.buffer).getBigUint64(0, true));
  if (!(length <= HEADER_BYTES_MAX && 8 + length <= size))
    throw no(`its header should have ${length} bytes, but the file has ${size}`);
  const raw = new Uint8Array(8 + length);
  for (let done = 0; done < raw.length; ) {
    const read = await file.read(raw, done, raw.length - done, done);
    if (read.bytesRead === 0) throw no('it ends inside its header');
    done += read.bytesRead;
  }
  let header: unknown;
  let twice: string | null;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(raw.subarray(8));
    header = JSON.parse(text);
    twice = nameTwice(text);
  } catch (cause) {
    throw no('its header is not JSON', cause);
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header))
    throw no('its header is not an object');
  if (twice !== null) throw no(`its header has '${twice}' twice`);
  const { __metadata__: metadata, ...entries } = header as Record<string, unknown>;
  const places = Object.entries(entries).map(
    ([name, entry]) =>
      [name, (passed(name) ? bytesAt : placeOf)(path, name, entry, raw.length)] as const,
  );
  places.sort(([, a], [, b]) => a.at - b.at || a.bytes - b.bytes);
  checkCoverage(path, places, raw.length, size);
  return { raw, places: new Map(places), passed, metadata: textsOf(metadata) };
}

/** As JSON, unless it is long or nests without end. */
function brief(value: unknown): string {
  const text =
    Array.isArray(value) && value.some(Array.isArray) ? 'of lists' : JSON.stringify(value);
  return outsideText(String(text), 100);
}

/** Only its texts. */
function textsOf(metadata: unknown): Record<string, string> {
  const entries = Object.entries(metadata ?? {});
  return Object.fromEntries(entries.filter(([, value]) => typeof value === 'string'));
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function placeOf(path: string, tensor: string, entry: unknown, dataAt: number): Place {
  const { dtype, shape, data_offsets: offsets } = (entry ?? {}) as Record<string, unknown>;
  const no = (why: string, expected?: unknown, found?: unknown) =>
    checkpointError(`${path}: tensor '${tensor}' ${why}`, {
      file: path,
      tensor,
      expected,
      found,
    });
  if (typeof dtype !== 'string' || !isDtype(dtype))
    throw no(`is ${String(dtype)}: convert it to F32, BF16 or F16`, 'F32, BF16 or F16', dtype);
  if (!Array.isArray(shape) || !shape.every(isCount))
    throw no(`has the shape ${brief(shape)}: sizes must be whole numbers`);
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount))
    throw no(`has the offsets ${brief(offsets)}: two whole numbers are needed`);
  const [start, end] = offsets as [number, number];
  const bytes = shape.reduce((product, size) => product * size, 1) * WIDTHS[dtype];
  if (end - start !== bytes)
    throw no(
      `[${shape.join(', ')}] of ${dtype} needs ${bytes} bytes but has ${end - start}: save it again`,
      bytes,
      end - start,
    );
  return { dtype, shape, bytes, at: dataAt + start };
}

/** A tensor of any type, treated as numbers of 16 bits. */
function bytesAt(path: string, tensor: string, entry: unknown, dataAt: number): Place {
  const offsets = (entry as { data_offsets?: unknown } | null)?.data_offsets;
  const [start, end] = Array.isArray(offsets) ? offsets : [];
  if (!isCount(start) || !isCount(end) || end < start || (end - start) % 2 !== 0)
    throw checkpointError(`${path}: tensor '${tensor}' has the offsets ${brief(offsets)}`, {
      file: path,
      tensor,
    });
  const bytes = end - start;
  return { dtype: 'BF16', shape: [bytes / 2], bytes, at: dataAt + start };
}

/** The entries follow each other without gap or overlap, from the header's end to the file's. */
function checkCoverage(
  path: string,
  places: readonly (readonly [string, Place])[],
  dataAt: number,
  size: number,
): void {
  let end = dataAt;
  for (const [tensor, { at, bytes }] of places) {
    if (at !== end)
      throw checkpointError(
        `${path}: tensor '${tensor}' begins at byte ${at}, where the one before it ends at ${end}: save it again`,
        { file: path, tensor, expected: end, found: at },
      );
    end += bytes;
    if (end > size)
      throw checkpointError(
        `${path} is cut short: tensor '${tensor}' ends at byte ${end} and the file has ${size}; copy it again`,
        { file: path, tensor, expected: end, found: size },
      );
  }
  if (end !== size)
    throw checkpointError(
      `${path} has ${size} bytes where its header describes ${end}: copy or save it again`,
      { file: path, expected: end, found: size },
    );
}
