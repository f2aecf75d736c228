/**
 * WebAssembly's binary format, as far as loops over arrays need it: functions that work on 128 bits of
 * numbers at a time.
 *
 * Code is a list of bytes; an instruction is written as a function of its operands' code, so that it reads as
 * an expression. Each operation rounds as IEEE 754 says, so results are the same on every machine.
 */
export type Code = readonly number[];

const TYPES = { i32: 0x7f, f32: 0x7d, f64: 0x7c, v128: 0x7b } as const;
export type Type = keyof typeof TYPES;

export interface WasmFunction {
  readonly name: string;
  readonly parameters: readonly Type[];
  readonly results: readonly Type[];
  /** Start as zero; counted on from the parameters. */
  readonly locals: readonly Type[];
  readonly body: Code;
}

const PAGE_BYTES = 65_536;

/** What is used of it; the types of Node leave it out. */
declare namespace WebAssembly {
  class Memory {
    constructor(size: { readonly initial: number; readonly maximum: number });
    readonly buffer: ArrayBuffer;
  }
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(module: Module, imports: { readonly host: { readonly memory: Memory } });
    readonly exports: unknown;
  }
}

const VECTOR = 0xfd;
const NOTHING = 0x40;

/** An unsigned number, seven bits a byte. */
function unsigned(value: number): Code {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}

const scalar = (opcode: number) => (x: Code, y: Code) => [...x, ...y, opcode];
const one = (opcode: number) => (x: Code) => [...x, VECTOR, ...unsigned(opcode)];
const two = (opcode: number) => (x: Code, y: Code) => [...x, ...y, VECTOR, ...unsigned(opcode)];
/** Numbers are aligned to four bytes, at this offset from the address. */
const place = (offset: number) => [2, ...unsigned(offset)];

export const get = (local: number): Code => [0x20, ...unsigned(local)];
export const set = (local: number, x: Code): Code => [...x, 0x21, ...unsigned(local)];

export const i32 = {
  /** A number from 0 to 63. */
  constant: (value: number): Code => [0x41, value],
  add: scalar(0x6a),
  shiftLeft: scalar(0x74),
  below: scalar(0x49),
};

export const f64 = { add: scalar(0xa0) };

export const v128 = {
  load: (address: Code, offset: number): Code => [...address, VECTOR, 0x00, ...place(offset)],
  /** 64 bits; the others are zero. */
  loadHalf: (address: Code, offset: number): Code => [...address, VECTOR, 0x5d, ...place(offset)],
  store: (address: Code, offset: number, x: Code): Code => [
    ...address,
    ...x,
    ...[VECTOR, 0x0b, ...place(offset)],
  ],
};

export const f32x4 = {
  splat: one(0x13),
  add: two(0xe4),
  subtract: two(0xe5),
  multiply: two(0xe6),
  divide: two(0xe7),
  root: one(0xe3),
};

export const f64x2 = {
  /** The first two of four float32. */
  widen: one(0x5f),
  add: two(0xf0),
  multiply: two(0xf2),
  lane: (x: Code, lane: 0 | 1): Code => [...x, VECTOR, 0x21, lane],
};

/** `body`, and again as long as `condition` holds. */
export function repeat(body: Code, condition: Code): Code {
  return [0x03, NOTHING, ...body, ...condition, ...[0x0d, 0], 0x0b];
}

/** These functions over a memory of at least this many bytes; compiled synchronously. */
export function openWasm<Functions>(
  functions: readonly WasmFunction[],
  bytes: number,
): { readonly functions: Functions; readonly memory: ArrayBuffer } {
  const pages = Math.ceil(bytes / PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
  const module = new WebAssembly.Module(encoded(functions));
  const { exports } = new WebAssembly.Instance(module, { host: { memory } });
  return { functions: exports as Functions, memory: memory.buffer };
}

/** The functions as a module over one memory, `memory` of `host`. */
function encoded(functions: readonly WasmFunction[]): Uint8Array {
  const list = (items: readonly Code[]) => [...unsigned(items.length), ...items.flat()];
  const section = (id: number, content: Code) => [id, ...unsigned(content.length), ...content];
  const text = (name: string) => list([...new TextEncoder().encode(name)].map((byte) => [byte]));
  const types = (of: readonly Type[]) => list(of.map((type) => [TYPES[type]]));
  const bodies = functions.map(({ locals, body }) => {
    const code = [...list(locals.map((type) => [1, TYPES[type]])), ...body, 0x0b];
    return [...unsigned(code.length), ...code];
  });
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(functions.map((f) => [0x60, ...types(f.parameters), ...types(f.results)]))),
    ...section(2, list([[...text('host'), ...text('memory'), 2, 0, 1]])),
    ...section(3, list(functions.map((_, index) => unsigned(index)))),
    ...section(7, list(functions.map(({ name }, index) => [...text(name), 0, ...unsigned(index)]))),
    ...section(10, list(bodies)),
  ]);
}
