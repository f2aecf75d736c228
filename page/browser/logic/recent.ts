/** Recently used values by name, up to a number of bytes: the least recently used goes first. */
export interface Recent<T> {
  get(name: string): T | undefined;
  /** What is larger than all there is room for is not kept. */
  put(name: string, value: T, bytes: number): void;
  readonly bytes: number;
}

export function recent<T>(bytesMax: number): Recent<T> {
  // A map keeps its order: what is used goes to the end.
  const entries = new Map<string, { readonly value: T; readonly bytes: number }>();
  let total = 0;
  const drop = (name: string): void => {
    total -= entries.get(name)?.bytes ?? 0;
    entries.delete(name);
  };
  return {
    get(name) {
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      entries.delete(name);
      entries.set(name, entry);
      return entry.value;
    },
    put(name, value, bytes) {
      drop(name);
      if (bytes > bytesMax) return;
      entries.set(name, { value, bytes });
      total += bytes;
      while (total > bytesMax) drop(entries.keys().next().value!);
    },
    get bytes() {
      return total;
    },
  };
}
