/**
 * A text model from settings: `--set critic.url=http://host:8000 --set critic.model=Qwen2.5-72B-Instruct`.
 *
 * A job puts `textModelSettings` under the name of the role and says which model the role has when no URL is
 * given.
 */

import { z } from 'zod';
import { addressSetting, MODEL_SERVER } from '../../base/http/index.ts';
import type { Report, SleepClock } from '../../base/index.ts';
import { textServers, usualServer } from '../remote/wires/wires.ts';
import { samplingIn } from '../sampling.ts';
import { cached } from './cached.ts';
import { openAi } from './openAi.ts';
import type { ReplyStore } from './replyStore.ts';
import { samplingSettings } from './samplingSettings.ts';
import type { TextModel, TextSampling } from './textModel.ts';

const count = z.number().int().positive();
const atLeastZero = z.number().nonnegative();

/** The settings of one role's model. Nothing but `url` and `model` needs to be set for a server. */
export const textModelSettings = z.object({
  url: addressSetting(MODEL_SERVER)
    .default('')
    .describe(
      'base URLs of an OpenAI-compatible server, comma-separated; empty = the job’s own model',
    ),
  model: z.string().default('').describe('name of the model on that server'),
  server: z
    .enum([...textServers, 'openai'])
    .default(usualServer)
    .describe('whose protocol extensions to use; openai = none'),
  api: z
    .enum(['chat', 'completions'])
    .default('chat')
    .describe(
      'who applies the chat template: the server (chat) or the job (completions, exact continuations)',
    ),
  keyEnv: z.string().default('').describe('environment variable that holds the API key'),
  concurrency: count.default(32).describe('concurrent requests'),
  requestsPerMinute: atLeastZero.default(0).describe('maximum requests per minute; 0 = no limit'),
  timeoutMs: count.default(120_000).describe('time limit per attempt of a request'),
  maxTokens: count.default(1024).describe('maximum tokens of a reply'),
  ...samplingSettings,
});

/** `textModelSettings` with their defaults filled in. */
export type TextModelSettings = z.infer<typeof textModelSettings>;

/** What a job provides for a role's model: its own model, a clock, and where to keep replies. */
export interface TextModelParts {
  /** The role's model if no URL is set. It is closed with the model made from it. */
  readonly own: () => TextModel;
  readonly clock: SleepClock;
  /** The chat template as text, for `api: 'completions'`. */
  readonly template?: (system: string | undefined, prompt: string) => string;
  /**
   * Keeps what servers said; nothing is kept if left out. The job's own model changes, so its replies are
   * never kept.
   */
  readonly replies?: ReplyStore;
  /** Prints a line for each request without a result. */
  readonly report?: Report;
}

/** The model that the settings name. Fails with code `USAGE` if they do not fit together. */
export function configuredTextModel(settings: TextModelSettings, parts: TextModelParts): TextModel {
  if (settings.url === '') return parts.own();
  const { own: _, replies, ...rest } = parts;
  const { concurrency: concurrencyMax, server, api, model } = settings;
  const urls = settings.url.split(',').map((url) => url.trim());
  const remote = openAi({ ...settings, ...rest, urls, concurrencyMax });
  if (replies === undefined) return remote;
  return cached(remote, { id: `${server}/${api}/${model}`, replies });
}

/** How the role samples, to be spread into its requests. */
export function samplingOf(settings: TextModelSettings): TextSampling {
  return { maxTokens: settings.maxTokens, ...samplingIn(settings) };
}
