/**
 * Checks a graph's gradients against central differences of its loss, in float64.
 */
import type { Feed, Feeds, Session } from '../../../model/runtime/session.ts';

export interface Agreement {
  /** Largest |gradient - difference quotient| / max(1, |difference quotient|), and where. */
  readonly error: number;
  readonly place: string;
  /** Over the tensors, the least of their largest quotients: 0 would mean that one was not tested. */
  readonly quietest: number;
}

/** Keyed numbers in [-1, 1) for test data: no two places alike, the same every time. */
export function numbers(count: number, salt: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => {
    const wave = Math.sin((i + 1) * 12.9898 + salt * 78.233) * 43758.5453;
    return 2 * (wave - Math.floor(wave)) - 1;
  });
}

/**
 * Compares the outputs `gradient:<name>` with difference quotients of the output `loss`; at most `entriesMax`
 * entries of each wanted tensor are tried, evenly spread.
 */
export async function compareGradients(
  session: Session,
  feeds: Feeds,
  wanted: readonly string[],
  entriesMax: number,
  step = 1e-6,
): Promise<Agreement> {
  const gradients = await session.run(feeds);
  let [error, place, quietest] = [0, 'none', Number.POSITIVE_INFINITY];
  for (const name of wanted) {
    const { shape, data } = feeds[name] as Feed;
    const gradient = gradients[`gradient:${name}`] as Feed;
    if (gradient.shape.join() !== shape.join())
      throw new Error(`the gradient of '${name}' is [${gradient.shape}]`);
    const lossAt = async (entry: number, delta: number) => {
      const moved = Float64Array.from(data);
      moved[entry] = (moved[entry] as number) + delta;
      const results = await session.run({ ...feeds, [name]: { shape, data: moved } });
      return results.loss?.data[0] as number;
    };
    let loudest = 0;
    const stride = Math.max(1, Math.floor(data.length / entriesMax));
    for (let entry = 0; entry < data.length; entry += stride) {
      const quotient = ((await lossAt(entry, step)) - (await lossAt(entry, -step))) / (2 * step);
      const apart = Math.abs((gradient.data[entry] as number) - quotient);
      loudest = Math.max(loudest, Math.abs(quotient));
      const relative = apart / Math.max(1, Math.abs(quotient));
      if (!(relative <= error)) [error, place] = [relative, `${name}[${entry}]`];
    }
    quietest = Math.min(quietest, loudest);
  }
  return { error, place, quietest };
}
