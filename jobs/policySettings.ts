/** Settings of the loop of every training job (`policyLoop`). */
import { z } from 'zod';
import { samplingSettings } from '../model/text/index.ts';
import { keepSettings } from './keptVersions.ts';
import { mayChange } from './live.ts';
import { equalitySetting } from './verifier.ts';

/** A setting that counts something: a whole number from 1. */
export const positiveInt = z.number().int().positive();

/** The same settings, each of which may change during a run. */
function changing<Shape extends Record<string, z.ZodType>>(shape: Shape): Shape {
  const marked = Object.entries(shape).map(([name, schema]) => [name, mayChange(schema)]);
  return Object.fromEntries(marked) as Shape;
}

/** How many rounds a job has, or that it runs until it is stopped. */
export const roundsSetting = z.union([positiveInt, z.literal('forever')], {
  error: 'expected a whole number of at least 1, or forever',
});

/** The settings of every training job as a zod schema; a method extends it. Lengths are in tokens. */
export const policySettings = z.object({
  ...changing(samplingSettings),
  responseMax: positiveInt.default(320).describe('maximum response tokens, tool results included'),
  callLimit: positiveInt.default(6).describe('maximum tool calls per rollout'),
  lagMax: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('versions a rollout may lag behind; 0 = on-policy'),
  swap: z
    .enum(['rollout', 'token'])
    .default('rollout')
    .describe(
      'when the embedded engine loads new weights (with lagMax above 0): after the current generations, or at the next token',
    ),
  ...keepSettings,
  equality: equalitySetting,
  heldOut: positiveInt.default(150).describe('held-out questions to evaluate on'),
  concurrency: mayChange(positiveInt.default(24).describe('questions rolled out concurrently')),
  toolCalls: z
    .enum(['direct', 'topics'])
    .default('direct')
    .describe(
      'where tools run: in the process that rolls out (direct), or in any process that runs the stage tools (topics)',
    ),
  announce: z
    .string()
    .default('')
    .describe(
      'Kafka topics for answers, metrics and weights as JSON: kafka://host:port/NAME writes to NAME.answers, NAME.metrics and NAME.weights (docs/sources.md); empty = none',
    ),
  toolsAtOnce: positiveInt
    .default(32)
    .describe(
      'concurrent calls per process of the stage tools; a tool may have its own lower limit',
    ),
});

/** `policySettings` with all defaults filled in. */
export type PolicySettings = z.infer<typeof policySettings>;
