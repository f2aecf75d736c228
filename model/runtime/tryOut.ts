/**
 * Tries a device out before anything relies on it: the same work there and on the CPU, compared number by
 * number.
 *
 * Kernels of a provider can be silently wrong. The trials run the graphs themselves on a small network, so
 * whatever a graph needs is tested with it.
 */
import { cpuDevice, type Device } from './device.ts';
import { notOpened, notTrusted } from './provider.ts';

/** The result of a trial, by name. */
export type Outcome = ReadonlyMap<string, ArrayLike<number>>;

/** Some work whose result depends only on where it is done. */
export interface Trial {
  /** Its name for people. */
  readonly name: string;
  run(device: Device): Promise<Outcome>;
}

/**
 * The largest accepted difference, as a share of the largest number of its tensor. Float32 sums in another
 * order differ by a few millionths. A wrong kernel differs by far more, and so do products rounded to fewer
 * bits (TF32).
 */
export const DIFFERENCE_MAX = 1e-4;

/**
 * Fails with code `PROVIDER` if a trial cannot be done on the device, or gives a different result than on the
 * CPU.
 */
export async function tryOut(
  device: Device,
  trials: readonly Trial[],
  cpu: Device = cpuDevice,
): Promise<void> {
  for (const { name, run } of trials) {
    const want = await run(cpu);
    const got = await run(device).catch((error: unknown) => {
      throw notOpened(device.provider, error);
    });
    const { output, difference } = furthest(want, got);
    if (difference <= DIFFERENCE_MAX) continue;
    const share = Number.isFinite(difference) ? difference.toPrecision(2) : 'not a number';
    const what =
      `'${output}' differs from the CPU's by ${share} of its largest number, ` +
      `and at most ${DIFFERENCE_MAX} is rounding`;
    throw notTrusted(device.provider, name, what, { output, difference });
  }
}

/**
 * The output that differs most, and by what share of its largest number; NaN where something is not a number.
 */
export function furthest(want: Outcome, got: Outcome): { output: string; difference: number } {
  let worst = { output: '', difference: 0 };
  for (const [output, numbers] of want) {
    const difference = differenceOf(numbers, got.get(output) ?? []);
    if (!(difference <= worst.difference)) worst = { output, difference };
    if (Number.isNaN(difference)) return worst;
  }
  return worst;
}

function differenceOf(want: ArrayLike<number>, got: ArrayLike<number>): number {
  if (want.length !== got.length) return Number.NaN;
  let largest = 0;
  let furthest = 0;
  for (let i = 0; i < want.length; i++) {
    const [here, there] = [want[i] as number, got[i] as number];
    if (!Number.isFinite(there)) return Number.NaN;
    largest = Math.max(largest, Math.abs(here));
    furthest = Math.max(furthest, Math.abs(here - there));
  }
  return furthest === 0 ? 0 : furthest / largest;
}
