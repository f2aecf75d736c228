/**
 * How the runtime divides a matrix product among threads, and when that shows in the sums.
 *
 * A product of fewer rows than columns is divided by columns, 16 at a time, else by rows. Within a share
 * each number is summed in stretches of 128 terms; if a share has 64 columns or fewer, and fewer than
 * terms, in longer ones, but not when the left factor is given transposed. So on more threads a number may be
 * summed in other stretches, and differ in its last place. (onnxruntime 1.30 on x86; tested against it size
 * by size.)
 */
const STRETCH = 128;
/** Columns of a block that is not divided further. */
const BLOCK = 16;
/** A share of more columns is never summed in longer stretches. */
const NARROW = 64;

/**
 * Whether the sums of a product [rows, inner] x [inner, columns] may depend on the number of threads, up to
 * this one, for some numbers of rows below `sharedByRows`; `inner` Infinity = any.
 */
export function sumsVary(columns: number, inner: number, threads: number): boolean {
  if (inner <= STRETCH) return false;
  if (columns <= NARROW) return true;
  return shares(columns, threads).some((share) => stretch(share, inner) > STRETCH);
}

/** From this many rows on, each thread has all the columns. */
export function sharedByRows(columns: number): number {
  return Math.max(columns, NARROW);
}

/**
 * Whether the stretches of a product on one thread are those of one whose left factor is given transposed.
 */
export function sumsAsTransposed(columns: number): boolean {
  return columns > NARROW;
}

/** The smallest shares, for every number of threads up to this one. */
function shares(columns: number, threads: number): number[] {
  const blocks = Math.ceil(columns / BLOCK);
  const sizes: number[] = [];
  for (let parts = 2; parts <= Math.min(threads, blocks); parts++) {
    const least = Math.floor(blocks / parts);
    sizes.push(least * BLOCK, columns - (blocks - least) * BLOCK);
  }
  return sizes;
}

/** Terms added up at a time. */
function stretch(columns: number, inner: number): number {
  if (columns >= inner) return STRETCH;
  let terms = STRETCH;
  for (let width = STRETCH; width > BLOCK && width / 2 >= columns; width /= 2) terms *= 2;
  return terms;
}
