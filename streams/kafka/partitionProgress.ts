/**
 * What a group has settled of one partition, and how that is stored with its committed offset.
 *
 * Kept the other way round than in the embedded log: the offsets that are *not* settled, of those seen.
 * Partitions have gaps without records, and a long-running record lets thousands after it settle;
 * the unsettled ones are never more than the group's inflightMax. The committed offset is the first
 * unsettled one, so that a reader which knows nothing of this loses nothing.
 */
import { MillraceError } from '../../base/index.ts';

export interface ProgressState {
  /** Everything below was seen; what is not in `unsettled` is settled. */
  readonly seen: number;
  /** Ascending. */
  readonly unsettled: readonly number[];
  /** Records settled since the beginning. */
  readonly settled: number;
}

export const BEGINNING: ProgressState = { seen: 0, unsettled: [], settled: 0 };

export class PartitionProgress {
  #seen: number;
  /** In ascending order: offsets are only ever added at the end. */
  readonly #unsettled: Set<number>;
  #settled: number;

  constructor({ seen, unsettled, settled }: ProgressState = BEGINNING) {
    this.#seen = seen;
    this.#unsettled = new Set(unsettled);
    this.#settled = settled;
  }

  /** First offset that may hold an unsettled record. */
  get low(): number {
    const [first] = this.#unsettled;
    return first ?? this.#seen;
  }

  get settled(): number {
    return this.#settled;
  }

  has(offset: number): boolean {
    return offset < this.#seen && !this.#unsettled.has(offset);
  }

  /** A record was met at this offset. */
  meet(offset: number): void {
    if (offset < this.#seen) return;
    this.#unsettled.add(offset);
    this.#seen = offset + 1;
  }

  settle(offset: number): void {
    if (this.#unsettled.delete(offset)) this.#settled += 1;
  }

  /** As it will be once these are settled. */
  after(offsets: readonly number[]): ProgressState {
    const gone = new Set(offsets.filter((offset) => this.#unsettled.has(offset)));
    return {
      seen: this.#seen,
      unsettled: [...this.#unsettled].filter((offset) => !gone.has(offset)),
      settled: this.#settled + gone.size,
    };
  }
}

/** The offset to commit. */
export function lowOf({ seen, unsettled }: ProgressState): number {
  return unsettled[0] ?? seen;
}

const MARK = 'm1.';

/**
 * The rest of the state as text: how many are settled, how far was seen, and the distances from one
 * unsettled offset to the next; numbers of seven bits a byte, in base64url.
 */
export function encodeProgress(state: ProgressState): string {
  const low = lowOf(state);
  const bytes: number[] = [];
  writeNumber(bytes, state.settled);
  writeNumber(bytes, state.seen - low);
  let before = low;
  for (const offset of state.unsettled.slice(1)) {
    writeNumber(bytes, offset - before);
    before = offset;
  }
  return MARK + Buffer.from(bytes).toString('base64url');
}

/** Without our metadata (someone set the offset by hand) everything below `offset` counts as settled. */
export function decodeProgress(offset: number, metadata: string): ProgressState {
  if (!metadata.startsWith(MARK)) return { seen: offset, unsettled: [], settled: 0 };
  const numbers = readNumbers(Buffer.from(metadata.slice(MARK.length), 'base64url'));
  const [settled, ahead, ...distances] = numbers;
  if (settled === undefined || ahead === undefined) {
    throw new MillraceError('OFFSETS', `committed offset ${offset} has truncated metadata`);
  }
  if (ahead === 0) return { seen: offset, unsettled: [], settled };
  const unsettled = [offset];
  for (const distance of distances) unsettled.push(unsettled.at(-1)! + distance);
  return { seen: offset + ahead, unsettled, settled };
}

function writeNumber(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
}

function readNumbers(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let value = 0;
  let scale = 1;
  for (const byte of bytes) {
    value += (byte & 0x7f) * scale;
    scale *= 0x80;
    if (byte < 0x80) {
      numbers.push(value);
      value = 0;
      scale = 1;
    }
  }
  return numbers;
}
