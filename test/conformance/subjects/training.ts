/**
 * Optimiser, learning rate and batching.
 */
import { adamW, clipFactor, jointNorm } from '../../../model/train/adamw.ts';
import { balance } from '../../../model/train/balance.ts';
import {
  type ConstantSchedule,
  type CosineSchedule,
  learningRateFactor,
} from '../../../operators/batching/learningRate.ts';
import { tokenLimited } from '../../oracles/tokenLimit.ts';
import { oracle, type Subjects, subject } from '../subject.ts';

interface AdamWArgs {
  readonly params: readonly number[];
  readonly grads: readonly (readonly number[])[];
  readonly lr: number;
  readonly betas: readonly [number, number];
  readonly eps: number;
  readonly weightDecay: number;
  readonly steps: number;
}
interface ClipArgs {
  readonly grads: readonly (readonly (number | string)[])[];
  readonly maxNorm: number;
}
interface BalanceArgs {
  readonly lengths: readonly number[];
  readonly k: number;
  readonly equalSize: boolean;
}
interface MicroBatchArgs {
  readonly lengths: readonly number[];
  readonly maxTokens: number;
}

export const trainingSubjects: Subjects = {
  adamw: subject<AdamWArgs>(({ params, grads, lr, betas, eps, weightDecay, steps }) => {
    const parameter = Float32Array.from(params);
    const moments = {
      mean: new Float32Array(params.length),
      square: new Float32Array(params.length),
    };
    const settings = { beta1: betas[0], beta2: betas[1], eps, weightDecay };
    for (let step = 1; step <= steps; step++) {
      const gradient = Float32Array.from(grads[step - 1]!);
      adamW(parameter, gradient, moments, settings, { lr, step, scale: 1 });
    }
    return parameter;
  }),
  'grad-clip': subject<ClipArgs>(({ grads, maxNorm }) => {
    const tensors = grads.map((tensor) => Float32Array.from(tensor, Number));
    const norm = jointNorm(tensors);
    const factor = clipFactor(norm, maxNorm);
    return { norm, clipped: tensors.map((tensor) => tensor.map((value) => value * factor)) };
  }),
  'lr-schedule': subject<(ConstantSchedule | CosineSchedule) & { step: number }>((args) =>
    learningRateFactor(args, args.step),
  ),
  'seq-balance': subject<BalanceArgs>(({ lengths, k, equalSize }) =>
    balance(lengths, k, { equalSize }),
  ),
  'micro-batch': oracle<MicroBatchArgs>(
    'micro-batches are cut by the memory that their graph needs',
    ({ lengths, maxTokens }) => tokenLimited(lengths, maxTokens),
  ),
};
