/** Settings of an evaluation (`evaluate`). */
import { z } from 'zod';
import { samplingSettings } from '../model/sampling.ts';

const count = z.number().int().positive();

export const evaluateSettings = z.object({
  rollouts: count.default(1).describe('rollouts of each question (n)'),
  ...samplingSettings,
  temperature: samplingSettings.temperature.default(0),
  responseMax: count.default(320).describe('most response tokens, tool results included'),
  callLimit: count.default(6).describe('most tool calls a rollout'),
  concurrency: count.default(24).describe('questions rolled out at once'),
  judgedAtOnce: count.default(8).describe('questions whose answers are judged at once'),
});

export type EvaluateSettings = z.infer<typeof evaluateSettings>;
