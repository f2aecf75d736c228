/** Settings of the loop that every training job turns in (`policyLoop`). */
import { z } from 'zod';
import { samplingSettings } from '../model/sampling.ts';
import { mayChange } from './live.ts';

/** A setting that counts something: a whole number from 1. */
export const positiveInt = z.number().int().positive();

/** The same settings, each of which may change while a run goes on. */
function changing<Shape extends Record<string, z.ZodType>>(shape: Shape): Shape {
  const marked = Object.entries(shape).map(([name, schema]) => [name, mayChange(schema)]);
  return Object.fromEntries(marked) as Shape;
}

/** How many rounds a job has, or that it goes on until it is stopped. */
export const roundsSetting = z.union([positiveInt, z.literal('forever')], {
  error: 'expected a whole number from 1, or forever',
});

/** The settings of every training job as a zod schema; a method extends it. Lengths are in tokens. */
export const policySettings = z.object({
  ...changing(samplingSettings),
  responseMax: positiveInt.default(320).describe('most response tokens, tool results included'),
  callLimit: positiveInt.default(6).describe('most tool calls a rollout'),
  lagMax: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('versions a rollout may be behind; 0 = on-policy'),
  swap: z
    .enum(['rollout', 'token'])
    .default('rollout')
    .describe(
      'where the embedded engine takes new weights while it generates (lagMax above 0): when generations under way have ended, or at a token',
    ),
  keepVersions: z
    .number()
    .int()
    .nonnegative()
    .default(4)
    .describe(
      'newest versions kept with their optimiser state, beside the first and the ends of rounds; 0 = all',
    ),
  keepRounds: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('ends of rounds kept: the newest so many; 0 = all'),
  keepEvery: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('keep every n-th version too; 0 = none'),
  keepBest: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('keep so many that were most accurate on the held-out questions too'),
  heldOut: positiveInt.default(150).describe('questions to evaluate on'),
  concurrency: mayChange(positiveInt.default(24).describe('questions rolled out at once')),
  toolCalls: z
    .enum(['direct', 'topics'])
    .default('direct')
    .describe(
      'who runs tools: the process that rolls out (direct), or every process that runs the stage tools, asked through topics',
    ),
  announce: z
    .string()
    .default('')
    .describe(
      'Kafka topics that are told of answers, metrics and weights, as JSON: kafka://host:port/NAME writes NAME.answers, NAME.metrics, NAME.weights (docs/sources.md); empty = none',
    ),
  toolsAtOnce: positiveInt
    .default(32)
    .describe(
      'calls that a process of the stage tools has at once; each tool may have a lower bound of its own',
    ),
});

/** `policySettings` with all defaults filled in. */
export type PolicySettings = z.infer<typeof policySettings>;
