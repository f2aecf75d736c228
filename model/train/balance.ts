/**
 * Balanced partitions of sequence lengths by largest differencing (Karmarkar and Karp, 1982), in the form
 * that verl uses for load balance (ARPO reference §7.6).
 *
 * Every length starts as a partition of its own; the two partitions with the largest spread are merged,
 * largest set with smallest, until one is left. All ties are broken by length, count and index, so the result
 * is a function of the lengths alone.
 */

/** One set of a partition: places in the list of lengths, and their sum. */
interface Part {
  readonly sum: number;
  readonly members: readonly number[];
}

/** k sets in descending order. */
type Partition = readonly Part[];

export interface BalanceOptions {
  /** All sets get the same number of members; the number of lengths must be a multiple of k. */
  readonly equalSize?: boolean;
}

/** k lists of places, each ascending, that cover all lengths with sums close to each other. */
export function balance(
  lengths: readonly number[],
  k: number,
  { equalSize = false }: BalanceOptions = {},
): number[][] {
  if (lengths.length < k || (equalSize && lengths.length % k !== 0)) {
    throw new Error(
      `${lengths.length} sequences do not fill ${k} ${equalSize ? 'equal ' : ''}parts: ` +
        'use fewer parts or a batch that divides evenly',
    );
  }
  const order = (a: Part, b: Part) => descending(a, b, lengths);
  const queue = firstPartitions(lengths, k, equalSize, order);
  queue.sort((a, b) => byUrgency(a, b, order));
  while (queue.length > 1) {
    const [first, second] = queue.splice(0, 2) as [Partition, Partition];
    insert(queue, merge(first, second, order), (a, b) => byUrgency(a, b, order));
  }
  return queue[0]!.map((part) => part.members.toSorted((a, b) => a - b));
}

type PartOrder = (a: Part, b: Part) => number;

/** Single lengths, or k consecutive ones in ascending order of length when parts must be equal. */
function firstPartitions(
  lengths: readonly number[],
  k: number,
  equalSize: boolean,
  order: PartOrder,
): Partition[] {
  const ascending = [...lengths.keys()].sort((a, b) => lengths[a]! - lengths[b]! || a - b);
  const taken = equalSize ? k : 1;
  const partitions: Partition[] = [];
  for (let start = 0; start < ascending.length; start += taken) {
    const parts = Array.from({ length: k }, (_, i): Part => {
      const place = i < taken ? ascending[start + i] : undefined;
      return place === undefined
        ? { sum: 0, members: [] }
        : { sum: lengths[place]!, members: [place] };
    });
    partitions.push(parts.sort(order));
  }
  return partitions;
}

function merge(a: Partition, b: Partition, order: PartOrder): Partition {
  return a
    .map((part, i): Part => {
      const other = b[b.length - 1 - i]!;
      return { sum: part.sum + other.sum, members: [...part.members, ...other.members] };
    })
    .sort(order);
}

/** Larger sum first, then more members, then the larger members in order (place, then length). */
function descending(a: Part, b: Part, lengths: readonly number[]): number {
  if (a.sum !== b.sum) return b.sum - a.sum;
  if (a.members.length !== b.members.length) return b.members.length - a.members.length;
  const at = a.members.findIndex((member, i) => member !== b.members[i]);
  if (at < 0) return 0;
  const [left, right] = [a.members[at]!, b.members[at]!];
  return right - left || lengths[right]! - lengths[left]!;
}

/** Larger spread first, then the larger first set. */
function byUrgency(a: Partition, b: Partition, order: PartOrder): number {
  const spread = (partition: Partition) => partition[0]!.sum - partition.at(-1)!.sum;
  return spread(b) - spread(a) || order(a[0]!, b[0]!);
}

/** Puts an item into a sorted list, by halving. */
function insert<T>(sorted: T[], item: T, order: (a: T, b: T) => number): void {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (order(sorted[middle]!, item) <= 0) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, item);
}
