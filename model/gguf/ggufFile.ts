/**
 * A GGUF file (versions 2 and 3), as llama.cpp writes them: its metadata, and its tensors read one at a time.
 *
 * The file may be anything: every count and length is bounded and must fit in the file before anything is
 * allocated for it, no name may occur twice, and no two tensors may share a byte. A tensor of a type that we
 * do not decode is refused by its name and type.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { outsideText } from '../../base/index.ts';
import type { Tensor } from '../config.ts';
import { checkpointError } from '../hf/checkpointError.ts';
import { type BlockType, blockTypes, typeName } from './blocks.ts';
import { type Cursor, cursor, cutShort } from './cursor.ts';

export type Scalar = number | boolean | string;
export type Value = Scalar | readonly Scalar[];
export type Metadata = ReadonlyMap<string, Value>;

/** A tensor in the file. */
export interface GgufTensor {
  readonly name: string;
  /** Outermost first, as everywhere here; the file has it the other way round. */
  readonly shape: readonly number[];
  readonly type: BlockType;
  readonly bytes: number;
  /** Offset in the file. */
  readonly at: number;
}

export interface GgufFile {
  readonly path: string;
  readonly metadata: Metadata;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
  /** Decoded to float32. */
  read(tensor: GgufTensor): Promise<Tensor>;
  close(): Promise<void>;
}

const KEYS_MAX = 65_536;
const TENSORS_MAX = 65_536;
const DIMENSIONS_MAX = 4;
const NAME_BYTES_MAX = 65_535;
const STRING_BYTES_MAX = 16 << 20;
/** Of all lists together. */
const ELEMENTS_MAX = 16 << 20;
const ALIGNMENT_MAX = 1 << 20;
/** Limit of bytes decoded at once. */
const CHUNK_BYTES = 4 << 20;

/** Rejects with `CHECKPOINT` if it is missing, cut short, or of a kind that we do not read. */
export async function openGgufFile(path: string): Promise<GgufFile> {
  const file = await open(path, 'r').catch((cause) => {
    throw checkpointError(
      `${path} cannot be opened (${(cause as NodeJS.ErrnoException).code ?? cause}): check the path`,
      { file: path },
      cause,
    );
  });
  try {
    const { metadata, tensors } = await readHead(path, file);
    return {
      path,
      metadata,
      tensors,
      read: (tensor) => readTensor(path, file, tensor),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function readHead(path: string, file: FileHandle) {
  const { size } = await file.stat();
  const from = reader(path, cursor(path, file, size));
  const { tensorCount, keyCount } = await opening(path, from);
  const metadata = new Map<string, Value>();
  for (let i = 0; i < keyCount; i++) {
    const key = await from.text(NAME_BYTES_MAX);
    if (metadata.has(key)) throw refuse(path, `has '${outsideText(key)}' twice`);
    metadata.set(key, await from.value(await from.number('u32')));
  }
  const described: Described[] = [];
  for (let i = 0; i < tensorCount; i++) described.push(await describe(path, from));
  const dataAt = alignedTo(from.at, alignmentOf(path, metadata));
  return { metadata, tensors: placed(path, described, dataAt, size) };
}

async function opening(path: string, from: Reader) {
  const magic = String.fromCharCode(...(await from.take(4)));
  if (magic !== 'GGUF') throw refuse(path, 'is not a GGUF file');
  const version = await from.number('u32');
  if (version >>> 24 !== 0)
    throw refuse(path, 'is for big-endian machines: convert it with gguf_convert_endian.py');
  if (version !== 2 && version !== 3)
    throw refuse(path, `is GGUF version ${version}; only versions 2 and 3 are supported`);
  const tensorCount = await from.count(TENSORS_MAX, 'tensors');
  const keyCount = await from.count(KEYS_MAX, 'keys');
  return { tensorCount, keyCount };
}

/** A tensor as the header describes it. */
interface Described {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: BlockType;
  readonly bytes: number;
  /** Offset from where the data begins. */
  readonly offset: number;
}

async function describe(path: string, from: Reader): Promise<Described> {
  const name = await from.text(NAME_BYTES_MAX);
  const dimensions = await from.number('u32');
  const said = outsideText(name, 100);
  if (dimensions < 1 || dimensions > DIMENSIONS_MAX)
    throw refuse(path, `: tensor '${said}' has ${dimensions} dimensions`);
  const sizes: number[] = [];
  for (let i = 0; i < dimensions; i++) sizes.push(await from.number('u64'));
  const id = await from.number('u32');
  const type = blockTypes[id];
  if (type === undefined)
    throw refuse(
      path,
      `: tensor '${said}' is ${typeName(id)}; supported are ${Object.values(blockTypes)
        .map((each) => each.name)
        .join(', ')}: use a file in one of them`,
    );
  const numbers = sizes.reduce((product, size) => product * size, 1);
  if (sizes.includes(0) || !Number.isSafeInteger(numbers) || sizes[0]! % type.numbers !== 0)
    throw refuse(
      path,
      `: tensor '${said}' has the shape [${sizes}], which ${type.name} cannot have`,
    );
  const bytes = (numbers / type.numbers) * type.bytes;
  return { name, shape: sizes.reverse(), type, bytes, offset: await from.number('u64') };
}

/** In the order of their data. */
function placed(
  path: string,
  described: readonly Described[],
  dataAt: number,
  size: number,
): ReadonlyMap<string, GgufTensor> {
  const tensors = new Map<string, GgufTensor>();
  let end = dataAt;
  for (const { offset, ...tensor } of [...described].sort((a, b) => a.offset - b.offset)) {
    const said = outsideText(tensor.name, 100);
    const at = dataAt + offset;
    if (tensors.has(tensor.name)) throw refuse(path, `has the tensor '${said}' twice`);
    if (at < end) throw refuse(path, `: tensor '${said}' begins inside another`);
    end = at + tensor.bytes;
    if (!(end <= size)) throw cutShort(path, size);
    tensors.set(tensor.name, { ...tensor, at });
  }
  return tensors;
}

async function readTensor(path: string, file: FileHandle, tensor: GgufTensor): Promise<Tensor> {
  const { type, shape, bytes, at } = tensor;
  const data = new Float32Array((bytes / type.bytes) * type.numbers);
  const most = Math.floor(CHUNK_BYTES / type.bytes) * type.bytes;
  const chunk = new Uint8Array(Math.min(bytes, most));
  for (let start = 0; start < bytes; start += most) {
    const piece = chunk.subarray(0, Math.min(most, bytes - start));
    for (let done = 0; done < piece.length; ) {
      const from = at + start + done;
      const { bytesRead } = await file.read(piece, done, piece.length - done, from);
      if (bytesRead === 0) throw cutShort(path, (await file.stat()).size);
      done += bytesRead;
    }
    const first = (start / type.bytes) * type.numbers;
    const numbers = (piece.length / type.bytes) * type.numbers;
    type.decode(piece, data.subarray(first, first + numbers));
  }
  return { shape, data };
}

function alignmentOf(path: string, metadata: Metadata): number {
  const given = metadata.get('general.alignment') ?? 32;
  const power = typeof given === 'number' && given >= 1 && Number.isInteger(Math.log2(given));
  if (power && given <= ALIGNMENT_MAX) return given;
  throw refuse(path, `has an invalid alignment (general.alignment ${outsideText(String(given))})`);
}

const alignedTo = (at: number, alignment: number): number => Math.ceil(at / alignment) * alignment;

type NumberKind = keyof typeof numbers;

/** The kinds of numbers by their width in bytes. */
const numbers = {
  u8: { bytes: 1, get: (view: DataView, at: number) => view.getUint8(at) },
  i8: { bytes: 1, get: (view: DataView, at: number) => view.getInt8(at) },
  u16: { bytes: 2, get: (view: DataView, at: number) => view.getUint16(at, true) },
  i16: { bytes: 2, get: (view: DataView, at: number) => view.getInt16(at, true) },
  u32: { bytes: 4, get: (view: DataView, at: number) => view.getUint32(at, true) },
  i32: { bytes: 4, get: (view: DataView, at: number) => view.getInt32(at, true) },
  f32: { bytes: 4, get: (view: DataView, at: number) => view.getFloat32(at, true) },
  u64: { bytes: 8, get: (view: DataView, at: number) => Number(view.getBigUint64(at, true)) },
  i64: { bytes: 8, get: (view: DataView, at: number) => Number(view.getBigInt64(at, true)) },
  f64: { bytes: 8, get: (view: DataView, at: number) => view.getFloat64(at, true) },
};

/** By their number in a file; `bool` is a byte. */
const KINDS: readonly (NumberKind | 'bool' | 'text' | 'list')[] = [
  ...(['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'f32', 'bool', 'text', 'list'] as const),
  ...(['u64', 'i64', 'f64'] as const),
];

interface Reader {
  readonly at: number;
  take(bytes: number): Promise<Uint8Array>;
  number(kind: NumberKind): Promise<number>;
  count(most: number, of: string): Promise<number>;
  text(bytesMax: number): Promise<string>;
  value(kind: number): Promise<Value>;
}

function reader(path: string, from: Cursor): Reader {
  // a token may be a byte-order mark
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let elements = 0;
  const list = async (kind: NumberKind | 'bool', count: number): Promise<readonly Scalar[]> => {
    const { bytes, get } = numbers[kind === 'bool' ? 'u8' : kind];
    const raw = await from.take(bytes * count);
    const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
    const one = (_: unknown, i: number) => get(view, i * bytes);
    const all = Array.from({ length: count }, one);
    return kind === 'bool' ? all.map((each) => each !== 0) : all;
  };
  const self: Reader = {
    get at() {
      return from.at;
    },
    take: (bytes) => from.take(bytes),
    number: async (kind) => (await list(kind, 1))[0] as number,
    async count(most, of) {
      const count = await self.number('u64');
      if (count <= most) return count;
      throw refuse(path, `claims to have ${count} ${of}; the maximum is ${most}`);
    },
    async text(bytesMax) {
      const raw = await from.take(await self.count(bytesMax, 'bytes in a text'));
      try {
        return decoder.decode(raw);
      } catch (cause) {
        throw checkpointError(`${path} has a text that is not UTF-8`, { file: path }, cause);
      }
    },
    async value(id) {
      const kind = KINDS[id];
      if (kind === undefined) throw refuse(path, `has metadata of unknown type ${id}`);
      if (kind === 'text') return self.text(STRING_BYTES_MAX);
      if (kind !== 'list') return (await list(kind, 1))[0]!;
      const inner = KINDS[await self.number('u32')];
      const count = await self.count(ELEMENTS_MAX - elements, 'elements in its lists');
      elements += count;
      if (inner === undefined || inner === 'list')
        throw refuse(path, 'has lists of lists in its metadata');
      if (inner !== 'text') return list(inner, count);
      const texts: string[] = [];
      for (let i = 0; i < count; i++) texts.push(await self.text(STRING_BYTES_MAX));
      return texts;
    },
  };
  return self;
}

function refuse(path: string, what: string) {
  return checkpointError(`${path}${what.startsWith(':') ? '' : ' '}${what}`, { file: path });
}
