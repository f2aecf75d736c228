/**
 * Walks over the bytes of an Avro value without decoding them, and fails if they leave the buffer.
 *
 * A decoder trusts the counts that it finds: a few changed bytes make it allocate without end, or
 * loop. What has been walked over can be decoded in time and memory that grow with the number of bytes. The
 * walk itself makes no more steps than there are bytes.
 */
export interface Walk {
  readonly bytes: Buffer;
  /** Next byte. */
  at: number;
}

/** Moves `walk.at` after the value; throws RangeError when it does not end within the buffer. */
export type Walker = (walk: Walk) => void;

type Named = Map<string, Walker>;

interface Complex {
  readonly type: unknown;
  readonly name?: string;
  readonly size?: number;
  readonly symbols?: readonly string[];
  readonly items?: unknown;
  readonly values?: unknown;
  readonly fields?: readonly { readonly name: string; readonly type: unknown }[];
}

/** The most items that take no bytes at all. */
const EMPTY_ITEMS_MAX = 1000;

/** The walker of a schema, as JSON. Throws if it is not an Avro schema. */
export function walkerOf(schema: unknown, named: Named = new Map()): Walker {
  if (typeof schema === 'string') return primitive(schema) ?? late(schema, named);
  if (Array.isArray(schema)) return union(schema.map((branch) => walkerOf(branch, named)));
  const complex = schema as Complex;
  switch (complex.type) {
    case 'record':
      return record(complex, named);
    case 'enum':
      return known(complex, named, (walk) => index(walk, complex.symbols!.length));
    case 'fixed':
      return known(complex, named, (walk) => skip(walk, complex.size!));
    case 'array':
      return blocks(walkerOf(complex.items, named));
    case 'map': {
      const value = walkerOf(complex.values, named);
      return blocks((walk) => {
        text(walk);
        value(walk);
      });
    }
    default:
      return walkerOf(complex.type, named);
  }
}

/** Name of the first field of a record whose bytes make no sense; null if there is none. */
export function fieldOutside(schema: unknown, bytes: Buffer): string | null {
  const walk = { bytes, at: 0 };
  for (const { name, walker } of fieldsOf(schema)) {
    try {
      walker(walk);
    } catch {
      return name;
    }
  }
  return null;
}

/** By schema. */
const fieldWalkers = new WeakMap<
  object,
  readonly { readonly name: string; readonly walker: Walker }[]
>();

function fieldsOf(schema: unknown): readonly { readonly name: string; readonly walker: Walker }[] {
  const known = fieldWalkers.get(schema as object);
  if (known !== undefined) return known;
  const named: Named = new Map();
  const { fields = [] } = schema as Partial<Complex>;
  const walkers = fields.map(({ name, type }) => ({ name, walker: walkerOf(type, named) }));
  fieldWalkers.set(schema as object, walkers);
  return walkers;
}

function primitive(name: string): Walker | undefined {
  switch (name) {
    case 'null':
      return () => undefined;
    case 'boolean':
      return (walk) => skip(walk, 1);
    case 'int':
    case 'long':
      return (walk) => void whole(walk);
    case 'float':
      return (walk) => skip(walk, 4);
    case 'double':
      return (walk) => skip(walk, 8);
    case 'bytes':
    case 'string':
      return text;
    default:
      return undefined;
  }
}

/** A type that was written out before, looked up when it is used. */
function late(name: string, named: Named): Walker {
  return (walk) => {
    const walker = named.get(name);
    if (walker === undefined) throw new RangeError(`the schema has no type ${name}`);
    walker(walk);
  };
}

function known({ name }: Complex, named: Named, walker: Walker): Walker {
  if (name !== undefined) named.set(name, walker);
  return walker;
}

function record(complex: Complex, named: Named): Walker {
  const fields: Walker[] = [];
  const walker = known(complex, named, (walk) => {
    for (const field of fields) field(walk);
  });
  for (const { type } of complex.fields ?? []) fields.push(walkerOf(type, named));
  return walker;
}

function union(branches: readonly Walker[]): Walker {
  return (walk) => branches[index(walk, branches.length)]!(walk);
}

/** Blocks of items, each with its count, up to an empty one. */
function blocks(item: Walker): Walker {
  return (walk) => {
    let empty = 0;
    for (;;) {
      let count = whole(walk);
      if (count === 0) return;
      if (count < 0) {
        count = -count;
        whole(walk);
      }
      for (let i = 0; i < count; i++) {
        const before = walk.at;
        item(walk);
        if (walk.at === before && ++empty > EMPTY_ITEMS_MAX) throw outside(walk);
      }
    }
  };
}

function text(walk: Walk): void {
  skip(walk, whole(walk));
}

function index(walk: Walk, below: number): number {
  const found = whole(walk);
  if (found < 0 || found >= below) {
    throw new RangeError(`choice ${found} of ${below} does not exist, at byte ${walk.at}`);
  }
  return found;
}

function skip(walk: Walk, bytes: number): void {
  if (bytes < 0 || bytes > walk.bytes.length - walk.at) throw outside(walk);
  walk.at += bytes;
}

/** A zigzag number of up to 10 bytes. */
function whole(walk: Walk): number {
  let value = 0;
  let scale = 1;
  for (let i = 0; i < 10; i++) {
    const byte = walk.bytes[walk.at];
    if (byte === undefined) throw outside(walk);
    walk.at += 1;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
    scale *= 128;
  }
  throw new RangeError(`unterminated number at byte ${walk.at}`);
}

function outside(walk: Walk): RangeError {
  return new RangeError(`the bytes end in the middle of the value, at ${walk.bytes.length}`);
}
