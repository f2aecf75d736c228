/**
 * Checks a graph's gradients against central differences of its loss, in float64.
 */
import type { Feed, Feeds, Session } from '../../../model/runtime/session.ts';

export interface Difference {
  readonly place: string;
  readonly got: number;
  readonly want: number;
}

/** Keyed numbers in [-1, 1) for test data: no two places alike, the same every time. */
export function numbers(count: number, salt: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => {
    const wave = Math.sin((i + 1) * 12.9898 + salt * 78.233) * 43758.5453;
    return 2 * (wave - Math.floor(wave)) - 1;
  });
}

/**
 * The entry of each fed tensor in `wanted` whose `gradient:<name>` output differs most from the difference quotient of
 * the `loss` output; at most `entriesMax` entries of a tensor are tried, evenly spread.
 */
export async function worstDifference(
  session: Session,
  feeds: Feeds,
  wanted: readonly string[],
  entriesMax: number,
  step = 1e-5,
): Promise<Difference> {
  const gradients = await session.run(feeds);
  let worst: Difference = { place: 'none', got: 0, want: 0 };
  for (const name of wanted) {
    const { shape, data } = feeds[name] as Feed;
    const gradient = gradients[`gradient:${name}`] as Feed;
    if (gradient.shape.join() !== shape.join())
      throw new Error(`the gradient of '${name}' is [${gradient.shape}]`);
    const stride = Math.max(1, Math.floor(data.length / entriesMax));
    for (let entry = 0; entry < data.length; entry += stride) {
      const lossAt = async (delta: number) => {
        const moved = Float64Array.from(data);
        moved[entry] = (moved[entry] as number) + delta;
        const results = await session.run({ ...feeds, [name]: { shape, data: moved } });
        return results.loss?.data[0] as number;
      };
      const want = ((await lossAt(step)) - (await lossAt(-step))) / (2 * step);
      const got = gradient.data[entry] as number;
      if (Math.abs(got - want) >= Math.abs(worst.got - worst.want))
        worst = { place: `${name}[${entry}]`, got, want };
    }
  }
  return worst;
}
