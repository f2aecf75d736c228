/**
 * AdamW with decoupled weight decay, and clipping by the joint norm of all gradients; on plain arrays.
 *
 * Loshchilov and Hutter (2019), in the form of torch.optim.AdamW: the parameter decays first, then moves by
 * lr * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps). Every tensor decays.
 */

/** float32 in training; float64 where exactness is tested. */
export type Reals = Float32Array | Float64Array;

export interface AdamWSettings {
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  readonly weightDecay: number;
}

/** Running means of the gradient and of its square. Both start at zero. */
export interface Moments {
  readonly mean: Reals;
  readonly square: Reals;
}

/**
 * One step on one tensor, in place. `step` counts from 1; the gradient is multiplied by `scale` as it is read
 * (the clipping factor).
 */
export function adamW(
  parameter: Reals,
  gradient: Reals,
  { mean, square }: Moments,
  { beta1, beta2, eps, weightDecay }: AdamWSettings,
  { lr, step, scale }: { readonly lr: number; readonly step: number; readonly scale: number },
): void {
  const rate = lr / (1 - beta1 ** step);
  const correction = 1 / Math.sqrt(1 - beta2 ** step);
  const keep = 1 - lr * weightDecay;
  for (let i = 0; i < parameter.length; i++) {
    const g = (gradient[i] as number) * scale;
    const m = beta1 * (mean[i] as number) + (1 - beta1) * g;
    const v = beta2 * (square[i] as number) + (1 - beta2) * g * g;
    mean[i] = m;
    square[i] = v;
    const move = (rate * m) / (Math.sqrt(v) * correction + eps);
    parameter[i] = (parameter[i] as number) * keep - move;
  }
}

/** Euclidean norm over all tensors together. Sums in float64; not finite when a gradient is not. */
export function jointNorm(gradients: Iterable<Reals>): number {
  let squares = 0;
  for (const gradient of gradients)
    for (let i = 0; i < gradient.length; i++) squares += (gradient[i] as number) ** 2;
  return Math.sqrt(squares);
}

/** The factor that brings a joint norm down to `normMax`; 1 when it is below (torch's epsilon of 1e-6 kept). */
export function clipFactor(norm: number, normMax: number): number {
  return Math.min(1, normMax / (norm + 1e-6));
}
