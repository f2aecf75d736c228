import { expect, test } from '@jest/globals';
import { adamW, clipFactor, jointNorm } from '../../../model/train/adamw.ts';
import { readVectors, worstError } from '../vectors.ts';

const steps = readVectors<
  {
    readonly params: readonly number[];
    readonly grads: readonly (readonly number[])[];
    readonly lr: number;
    readonly betas: readonly [number, number];
    readonly eps: number;
    readonly weightDecay: number;
  },
  readonly number[]
>('adamw');

test.each(steps.cases)('adamW gives the reference parameters: $id', ({ args, expect: want }) => {
  const parameter = Float32Array.from(args.params);
  const moments = {
    mean: new Float32Array(parameter.length),
    square: new Float32Array(parameter.length),
  };
  const [beta1, beta2] = args.betas;
  const settings = { beta1, beta2, eps: args.eps, weightDecay: args.weightDecay };
  for (const [index, gradient] of args.grads.entries())
    adamW(parameter, Float32Array.from(gradient), moments, settings, {
      lr: args.lr,
      step: index + 1,
      scale: 1,
    });
  expect(worstError(parameter, want)).toBeLessThan(steps.tolerance);
});

const clips = readVectors<
  { readonly grads: readonly (readonly (number | string)[])[]; readonly maxNorm: number },
  { readonly norm: number | string; readonly clipped: readonly (readonly number[])[] }
>('grad-clip');
const finite = clips.cases.filter(({ id }) => !id.endsWith('non-finite'));
const broken = clips.cases.filter(({ id }) => id.endsWith('non-finite'));

test.each(finite)(
  'gradient clipping gives the reference gradients: $id',
  ({ args, expect: want }) => {
    const gradients = args.grads.map((gradient) => Float32Array.from(gradient, Number));
    const norm = jointNorm(gradients);
    const factor = clipFactor(norm, args.maxNorm);
    expect(worstError([norm], [want.norm])).toBeLessThan(clips.tolerance);
    const clipped = gradients.flatMap((gradient) => [...gradient].map((value) => value * factor));
    expect(worstError(clipped, want.clipped.flat())).toBeLessThan(clips.tolerance);
  },
);

test.each(broken)('a gradient that is not finite has a norm that is not: $id', ({ args }) => {
  const norm = jointNorm(args.grads.map((gradient) => Float32Array.from(gradient, Number)));
  expect(Number.isFinite(norm)).toBe(false);
});
