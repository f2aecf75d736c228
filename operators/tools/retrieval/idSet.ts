/**
 * Which ids have been seen, in at most 16 bytes per id: a set of tens of millions of strings does not fit a
 * `Set`.
 *
 * Ids are compared by 64 bits of hash: among twenty million, the chance that two collide is one in a hundred
 * thousand.
 */
const CAPACITY = 1024;

export class IdSet {
  #high = new Uint32Array(CAPACITY);
  #low = new Uint32Array(CAPACITY);
  #size = 0;

  /** False if it was already in the set. */
  add(id: string): boolean {
    const [high, low] = hash(id);
    if (!this.#put(high, low)) return false;
    this.#size++;
    if (this.#size * 2 > this.#high.length) this.#grow();
    return true;
  }

  #put(high: number, low: number): boolean {
    const [highs, lows] = [this.#high, this.#low];
    const mask = highs.length - 1;
    for (let at = low & mask; ; at = (at + 1) & mask) {
      if (highs[at] === 0 && lows[at] === 0) {
        highs[at] = high;
        lows[at] = low;
        return true;
      }
      if (highs[at] === high && lows[at] === low) return false;
    }
  }

  #grow(): void {
    const [highs, lows] = [this.#high, this.#low];
    this.#high = new Uint32Array(highs.length * 2);
    this.#low = new Uint32Array(lows.length * 2);
    for (let i = 0; i < highs.length; i++)
      if (highs[i] !== 0 || lows[i] !== 0) this.#put(highs[i]!, lows[i]!);
  }
}

/** Two lanes of FNV-1a over the UTF-16 units, mixed; never two zeros. */
function hash(id: string): readonly [high: number, low: number] {
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (let i = 0; i < id.length; i++) {
    const unit = id.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b) + 0x165667b1;
    b = (b << 13) | (b >>> 19);
  }
  return [mix(a ^ Math.imul(b, 3)), mix(b) || 1];
}

function mix(value: number): number {
  let h = value >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
