/**
 * Mixes classes of examples in given proportions: the largest mixture that keeps them exactly, as far as
 * whole examples go.
 *
 * The scarcest class sets the measure: it is taken whole, the others in proportion to it, rounded down. So
 * that a class of which there is next to nothing does not starve the rest, one that holds less than `scarce`
 * of its part of all examples is set aside: what there is of it is taken, and the others keep their
 * proportions among themselves. An empty class is the extreme of that.
 */

/** The proportions in which classes of examples are trained on. */
export interface ClassMix {
  /** By class; only ratios count. Examples of classes without a share, or with share 0, are left out. */
  readonly shares: Readonly<Record<string, number>>;
  /** A class with less than this fraction of its share is set aside (default 1/4; 0 = only empty ones). */
  readonly scarce?: number;
}

const SCARCE = 0.25;

interface Class<T> {
  readonly share: number;
  readonly items: T[];
}

/** Which of `items` are taken: of each class the first ones, in the order given; at most `most` in all. */
export function mixed<T>(
  items: readonly T[],
  classOf: (item: T) => string,
  { shares, scarce = SCARCE }: ClassMix,
  most: number = Number.POSITIVE_INFINITY,
): T[] {
  const classes = new Map(
    Object.entries(shares)
      .filter(([, share]) => share > 0)
      .map(([name, share]): [string, Class<T>] => [name, { share, items: [] }]),
  );
  for (const item of items) classes.get(classOf(item))?.items.push(item);
  const all = [...classes.values()];
  const due = total(all.map(({ items: own }) => own.length)) / total(all.map((one) => one.share));
  const isScarce = ({ share, items: own }: Class<T>): boolean =>
    own.length === 0 || own.length < scarce * due * share;
  const aside = all.filter(isScarce);
  const measured = all.filter((one) => !isScarce(one));
  const room = most - total(aside.map(({ items: own }) => own.length));
  const unit = Math.min(
    room / total(measured.map(({ share }) => share)),
    ...measured.map(({ share, items: own }) => own.length / share),
  );
  const taken = new Set([
    ...aside.flatMap(({ items: own }) => own),
    ...measured.flatMap(({ share, items: own }) => own.slice(0, whole(unit * share))),
  ]);
  return items.filter((item) => taken.has(item)).slice(0, most);
}

/** Rounded down, except for the last bit of a fraction. */
function whole(count: number): number {
  return Math.max(0, Math.floor(count + 1e-9));
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
