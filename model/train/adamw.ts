/**
 * AdamW with decoupled weight decay, and clipping by the joint norm of all gradients.
 *
 * Loshchilov and Hutter (2019), in the form of torch.optim.AdamW: the parameter decays, and moves by lr * m /
 * (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps). Every tensor decays. In float32; norms in float64.
 */
import { sumOfSquares, updateBy } from './passes.ts';

export interface AdamWSettings {
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  readonly weightDecay: number;
}

/** Running means of the gradient and of its square. Both start at zero. */
export interface Moments {
  readonly mean: Float32Array;
  readonly square: Float32Array;
}

/**
 * One step on one tensor, in place. `step` counts from 1; the gradient is multiplied by `scale` as it is read
 * (the clipping factor).
 */
export function adamW(
  parameter: Float32Array,
  gradient: Float32Array,
  { mean, square }: Moments,
  { beta1, beta2, eps, weightDecay }: AdamWSettings,
  { lr, step, scale }: { readonly lr: number; readonly step: number; readonly scale: number },
): void {
  updateBy(parameter, mean, square, gradient, {
    beta1,
    rest1: 1 - beta1,
    beta2,
    rest2: 1 - beta2,
    eps,
    rate: lr / (1 - beta1 ** step),
    correction: 1 / Math.sqrt(1 - beta2 ** step),
    decay: lr * weightDecay,
    scale,
  });
}

/** Euclidean norm over all tensors together; not finite when a gradient is not. */
export function jointNorm(gradients: Iterable<Float32Array>): number {
  let squares = 0;
  for (const gradient of gradients) squares += sumOfSquares(gradient);
  return Math.sqrt(squares);
}

/**
 * The factor that brings a joint norm down to `normMax`; 1 when it is below (torch's epsilon of 1e-6 kept).
 */
export function clipFactor(norm: number, normMax: number): number {
  return Math.min(1, normMax / (norm + 1e-6));
}
