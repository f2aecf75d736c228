/**
 * `--diff`: what differs from the previous record of the same topic and key, part by part.
 *
 * Parts are named by path (`rewards.0.score`); packed arrays are compared whole. The first record of a key is
 * kept to compare with and shows nothing, nor does an equal one. The `KEYS_MAX` most recent keys are
 * remembered.
 */
import type { Stored } from '../../streams/index.ts';

/** Null for a missing part. */
export class Change {
  readonly before: unknown;
  readonly after: unknown;

  constructor(before: unknown, after: unknown) {
    this.before = before;
    this.after = after;
  }
}

/** Changes by path; null if there are none. */
export type Diff = (
  stored: Stored<unknown>,
  value: unknown,
) => Readonly<Record<string, Change>> | null;

const KEYS_MAX = 1000;

export function diff(): Diff {
  const known = new Map<string, ReadonlyMap<string, unknown>>();
  return ({ topic, key }, value) => {
    const id = `${topic} ${key}`;
    const before = known.get(id);
    const after = new Map(leaves(value, ''));
    known.delete(id); // the map is in order of use
    known.set(id, after);
    if (known.size > KEYS_MAX) known.delete(known.keys().next().value!);
    return before === undefined ? null : changes(before, after);
  };
}

function changes(
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): Readonly<Record<string, Change>> | null {
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  const changed = paths.filter((path) => !same(before.get(path), after.get(path)));
  if (changed.length === 0) return null;
  return Object.fromEntries(
    changed.map((path) => [path, new Change(before.get(path) ?? null, after.get(path) ?? null)]),
  );
}

function* leaves(value: unknown, path: string): Generator<readonly [path: string, leaf: unknown]> {
  const inner =
    typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)
      ? Object.entries(value)
      : [];
  if (inner.length === 0) yield [path, value];
  for (const [name, part] of inner) yield* leaves(part, path === '' ? name : `${path}.${name}`);
}

function same(a: unknown, b: unknown): boolean {
  if (Object.is(a ?? null, b ?? null)) return true;
  if (ArrayBuffer.isView(a) && ArrayBuffer.isView(b)) return bytesOf(a).equals(bytesOf(b));
  return isEmpty(a) && isEmpty(b) && Array.isArray(a) === Array.isArray(b);
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** An array or a group without members: the only ones that are leaves. */
function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value);
}
