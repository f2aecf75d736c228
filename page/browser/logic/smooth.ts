/** Debiased exponential smoothing of a curve, as TensorBoard and others have it; gaps stay gaps. */

/** Fewer points are read one by one. */
export const smoothMin = 20;

/**
 * `weight` 0..1: how much of the past a point keeps. The values themselves if there are few, or nothing to
 * smooth.
 */
export function smoothed(
  values: readonly (number | null)[],
  weight: number,
): readonly (number | null)[] {
  if (weight <= 0 || values.length < smoothMin) return values;
  let past = 0;
  let count = 0;
  return values.map((value) => {
    if (value === null) return null;
    past = past * weight + (1 - weight) * value;
    count++;
    return past / (1 - weight ** count);
  });
}
