/**
 * The policy on inference servers by settings: `engine.server=vllm
 * engine.urls=http://gpu1:8000,http://gpu2:8000 engine.publish=adapter`.
 */

import { join, resolve } from 'node:path';
import { z } from 'zod';
import {
  type AddressWords,
  addressSetting,
  MODEL_SERVER,
  serverAddresses,
} from '../../base/http/index.ts';
import { MillraceError, type Report, type SleepClock } from '../../base/index.ts';
import type { Tokenizer } from '../engine.ts';
import { openPolicy } from '../hf/loadPolicy.ts';
import { tokenBytes } from '../rollout/tokenBytes.ts';
import { ordinaryContexts } from './probe.ts';
import { type Publisher, publishAdapter, publishFromDisk } from './publish.ts';
import { Receivers } from './receivers.ts';
import { RemoteEngine } from './remoteEngine.ts';
import { type ServedFolders, servedFolders } from './servedFolders.ts';
import { type ServerName, serverNames, serverWires } from './wires/wires.ts';

const WEIGHTS_RECEIVER: AddressWords = { what: 'a weights receiver', suffix: '/versions' };

/** Prefix of these settings. */
const OF = serverNames.join(', ');
const OF_NAMED = serverNames.filter((name) => serverWires[name].namesModel).join(', ');

/** The settings of a policy on servers, to be spread into those of a job's engine. */
export const serverSettings = {
  urls: addressSetting(MODEL_SERVER)
    .default('')
    .describe(`${OF}: base URLs of the servers, comma-separated: http://gpu1:8000`),
  model: z
    .string()
    .default('')
    .describe(
      `${OF_NAMED}: the name under which they serve the first policy; empty = as in \`policy\``,
    ),
  publish: z
    .enum(['full', 'adapter', 'none'])
    .default('full')
    .describe(
      `${OF}: how to publish a new version: all weights, a LoRA adapter, or not at all (to evaluate)`,
    ),
  share: z
    .string()
    .default('')
    .describe(
      `${OF}: folder on a disk that the servers share, for new weights; empty = published/ in the run’s folder`,
    ),
  seenAs: z
    .string()
    .default('')
    .describe(`${OF}: path of that folder as the servers see it; empty = the same`),
  receivers: addressSetting(WEIGHTS_RECEIVER)
    .default('')
    .describe(
      `${OF}: URLs of the weights receivers (millrace weights receive) on machines without a shared disk, comma-separated: one per server or one per machine; empty = the disk is shared`,
    ),
  receiverKeyEnv: z
    .string()
    .default('')
    .describe(`${OF}: name of the environment variable with the receivers’ token; empty = none`),
  dtype: z
    .enum(['keep', 'F32', 'F16', 'BF16'])
    .default('keep')
    .describe(`${OF}: number format of published weights (full); keep = the trainer’s`),
  keyEnv: z
    .string()
    .default('')
    .describe(`${OF}: name of the environment variable with the API key; empty = none`),
  inflight: z
    .number()
    .int()
    .positive()
    .default(256)
    .describe(`${OF}: concurrent requests over all servers`),
  timeoutMs: z
    .number()
    .int()
    .positive()
    .default(600_000)
    .describe(`${OF}: time limit for a response; slower requests are sent again`),
  awayMaxMs: z
    .number()
    .int()
    .nonnegative()
    .default(600_000)
    .describe(`${OF}: how long rollouts wait when no server answers`),
  canaryMax: z
    .union([z.literal('auto'), z.number().nonnegative()])
    .default('auto')
    .describe(
      `${OF}: how far servers and trainer may differ on average (nats a token), after each publish and in the rollouts of each step; auto = from their precision and the first version; 0 = do not compare`,
    ),
};

const filled = z.object(serverSettings);
/** `serverSettings` with all defaults filled in. */
export type ServerSettings = z.infer<typeof filled>;

/** What the engine is made for. */
export interface ServerPlace {
  /** The first policy, a file or a folder; null = only the servers have it. */
  readonly policy: string | null;
  /** Its name as the user gave it. */
  readonly policyName: string;
  readonly tokenizer: Tokenizer;
  /** Longest context that the job needs, in tokens. */
  readonly contextMax: number;
  /** Of the run, absolute. */
  readonly folder: string;
  readonly clock: SleepClock;
  readonly print: Report;
}

/**
 * The engine, its servers tried out. With `publish: 'none'` it serves what they have, as version 0; else
 * nothing is generated before the first `load`. Rejects like `RemoteEngine.create`.
 */
export async function serverEngine(
  server: ServerName,
  settings: ServerSettings,
  place: ServerPlace,
): Promise<RemoteEngine> {
  const { publish, canaryMax, keyEnv, timeoutMs, awayMaxMs, inflight } = settings;
  const wire = serverWires[server];
  const { policy, tokenizer, clock, print } = place;
  const shape = policy === null ? undefined : await shapeOf(policy);
  const { vocabSize } = shape ?? {};
  const folders = publish === 'none' ? null : foldersFor(publish, settings, place);
  const receivers = folders === null ? null : await receiversFor(settings, place);
  const probes = ordinaryTexts(tokenizer, vocabSize ?? tokenizer.vocabSize);
  const engine = await RemoteEngine.create({
    wire,
    urls: settings.urls.split(',').map((url) => url.trim()),
    model: wire.namesModel ? settings.model || place.policyName : settings.model,
    keyEnv,
    timeoutMs,
    awayMaxMs,
    concurrencyMax: inflight,
    waitingMax: Number.MAX_SAFE_INTEGER,
    clock,
    report: print,
    tokenBytes: tokenBytes(tokenizer),
    probes,
    // With the policy, log-probs are compared; with only a tokenizer this shows whether it is the right
    // one.
    ...(policy === null
      ? { texts: TEXTS.map((text) => ({ text, tokens: tokenizer.encode(text, { tags: false }) })) }
      : {}),
    ...shape,
    ...(folders === null ? { version: 0 } : publishing(publish, folders, receivers)),
    ...(canaryMax !== 0 && folders !== null
      ? { canary: { sequences: probes, meanMax: canaryMax === 'auto' ? null : canaryMax } }
      : {}),
  });
  if (engine.contextMax < place.contextMax) {
    print(
      `the servers allow ${engine.contextMax} tokens, but the job needs up to ${place.contextMax}: longer rollouts end there`,
    );
  }
  return engine;
}

/** Where a run's folder keeps weights for servers, unless they are shared elsewhere. */
export const PUBLISHED_FOLDER = 'published';

function foldersFor(
  as: 'full' | 'adapter',
  { share, seenAs, dtype }: ServerSettings,
  { policy, policyName, folder }: ServerPlace,
): ServedFolders {
  return servedFolders({
    as,
    share: share === '' ? join(folder, PUBLISHED_FOLDER) : resolve(share),
    base: policyName,
    dtype,
    ...(seenAs === '' ? {} : { seenAs }),
    ...(policy === null ? {} : { like: policy }),
  });
}

async function receiversFor(
  { receivers, receiverKeyEnv: keyEnv, urls, seenAs, timeoutMs, awayMaxMs }: ServerSettings,
  { clock, print: report }: ServerPlace,
): Promise<Receivers | null> {
  if (receivers === '') return null;
  if (seenAs !== '') {
    throw new MillraceError(
      'USAGE',
      'engine.seenAs is for a shared disk: with engine.receivers each receiver says where its folder is (millrace weights receive --seen-as)',
    );
  }
  const made = new Receivers({
    receivers: serverAddresses(receivers, WEIGHTS_RECEIVER),
    servers: serverAddresses(urls, MODEL_SERVER),
    ...{ keyEnv, timeoutMs, awayMaxMs, clock, report },
  });
  try {
    await made.ready();
    return made;
  } catch (error) {
    await made.close();
    throw error;
  }
}

function publishing(
  as: ServerSettings['publish'],
  folders: ServedFolders,
  receivers: Receivers | null,
): { publisher: Publisher; onClose: () => Promise<void> } {
  const publisher = as === 'adapter' ? publishAdapter : publishFromDisk;
  return {
    publisher: publisher(
      (weights) => folders.of(weights),
      receivers === null ? {} : { carry: receivers.carry },
    ),
    async onClose() {
      await receivers?.close();
      await folders.close();
    },
  };
}

async function shapeOf(policy: string): Promise<{ vocabSize: number; tied: boolean }> {
  const { config, close } = await openPolicy(policy);
  await close();
  return { vocabSize: config.vocabSize, tied: config.tiedEmbeddings };
}

/** Plain text of several kinds, about twenty tokens each, a few hundred together. */
const TEXTS = [
  'The river that runs through the town is crossed by seven bridges, and the oldest of them is made of stone.',
  'To add 17 and 25, first add the tens: 10 + 20 = 30; then 7 + 5 = 12; together they are 42.',
  'Who wrote the letter, when was it sent, and which of the two brothers answered it?',
  'def area(width, height): return width * height  # in square metres',
  'She opened the window, looked at the sky for a while, and decided to take the umbrella after all.',
  'Water boils at 100 degrees Celsius at sea level, and at about 90 degrees on a mountain of 3,000 metres.',
  '{"name": "search", "arguments": {"query": "population of Lisbon", "limit": 3}}',
  'In 1889 the tower was finished; it is 330 metres high and was the tallest building for 41 years.',
  'SELECT name, count(*) FROM orders WHERE paid = true GROUP BY name ORDER BY 2 DESC;',
  'First think about what is asked, then call a tool if you need one, and give the answer at the end.',
  'If x + 3 = 11, then x = 8; the square of x is 64, and half of that is 32.',
  'The committee met on Tuesday, heard both sides, and put off its decision until the end of the month.',
];

/** As tokens; drawn ones for a tokenizer that knows no such words. */
function ordinaryTexts(tokenizer: Tokenizer, vocabSize: number): readonly Int32Array[] {
  const encoded = TEXTS.map((text) => tokenizer.encode(text, { tags: false }));
  const isOrdinary = encoded.every((tokens) => new Set(tokens).size >= 8);
  return isOrdinary ? encoded : ordinaryContexts(vocabSize);
}
