/**
 * What to plan: a cluster and the job on it, as described in a small file. Times are in seconds, lengths in
 * tokens, sizes in gigabytes (10⁹ bytes).
 */
import { z } from 'zod';

const count = z.number().int().positive();
const orNone = z.number().nonnegative();
const above0 = z.number().positive();
const share = z.number().min(0).max(1);

const speeds = z
  .array(z.tuple([count, above0]))
  .min(1)
  .refine((points) => points.every(([at], i) => i === 0 || at > points[i - 1]![0]), {
    error: 'expected increasing numbers of requests, such as [[1, 90], [64, 3000]]',
  });

/** A cluster and its job, as a zod schema. */
export const clusterSettings = z.object({
  servers: z.object({
    gpus: count.describe('GPUs that generate'),
    gpusPerServer: count.default(1).describe('GPUs of one inference server'),
    tokensPerSecond: speeds.describe(
      'what one server generates, by requests at once: [[requests, tokens/s], …], interpolated',
    ),
    requestsMax: count.default(256).describe('requests that a server decodes at once; more wait'),
  }),
  trainer: z.object({
    gpus: count.describe('GPUs that train'),
    tokensPerSecond: above0.describe('tokens that one GPU trains on, old log-probs included'),
    stepSeconds: orNone.default(0).describe('time of a step in addition to its tokens'),
    publishSeconds: orNone.default(0).describe('time to save and publish a version'),
  }),
  weights: z
    .object({
      gigabytes: orNone.default(0).describe('how much of each version servers load; 0 = no time'),
      sharedGigabytesPerSecond: above0.default(10).describe('disk or link that all servers share'),
      serverGigabytesPerSecond: above0.default(2).describe('limit of one server'),
      loadSeconds: orNone.default(0).describe('time in addition to reading'),
    })
    .prefault({}),
  rollout: z
    .object({
      promptTokens: count.default(500).describe('tokens of a prompt'),
      tokens: count.default(2500).describe('median of the tokens that the policy writes'),
      spread: orNone.default(0.3).describe('sigma of their logarithm'),
      calls: orNone.default(3).describe('mean number of tool calls'),
      resultTokens: orNone.default(500).describe('tokens of a tool result'),
    })
    .prefault({}),
  tools: z
    .object({
      seconds: orNone.default(1).describe('median latency of a call'),
      spread: orNone.default(0.5).describe('sigma of its logarithm'),
      slowShare: share.default(0).describe('share of calls that take longer'),
      slowTimes: above0.default(10).describe('how many times as long they take'),
      coreSeconds: orNone.default(0.2).describe('processor time of a call, where tools run'),
    })
    .prefault({}),
  job: z
    .object({
      rollouts: count.default(8).describe('rollouts per question'),
      batchGroups: count.default(128).describe('questions per optimiser step'),
      lagMax: z
        .number()
        .int()
        .nonnegative()
        .default(0)
        .describe('versions a rollout may lag behind'),
      workers: count.default(1).describe('processes that roll out'),
      concurrency: count.default(128).describe('questions that each of them rolls out at once'),
    })
    .prefault({}),
  log: z
    .object({
      bytesPerToken: above0.default(10).describe('of a rollout: id, log-prob and text'),
      replication: count.default(1).describe('copies that brokers keep'),
      commitSeconds: orNone.default(0.005).describe('time of a commit'),
    })
    .prefault({}),
  leader: z
    .object({
      tokensPerSecond: above0
        .default(4_000_000)
        .describe('tokens that one leader encodes and sends to the trainer'),
      coreSeconds: orNone
        .default(0.14)
        .describe('processor time per million tokens that are encoded and sent to the trainer'),
    })
    .prefault({}),
});

/** A cluster and its job, with all defaults filled in. */
export type Cluster = z.infer<typeof clusterSettings>;

/** Tokens per second of one server with this many requests. */
export function speedOf({ tokensPerSecond }: Cluster['servers'], requests: number): number {
  const [first] = tokensPerSecond;
  const after = tokensPerSecond.findIndex(([at]) => at >= requests);
  if (after === 0) return (first![1] * requests) / first![0];
  if (after < 0) return tokensPerSecond.at(-1)![1];
  const [[from, low], [to, high]] = [tokensPerSecond[after - 1]!, tokensPerSecond[after]!];
  return low + ((high - low) * (requests - from)) / (to - from);
}

/** The most that one server generates, in tokens per second. */
export function fullSpeed(servers: Cluster['servers']): number {
  return Math.max(
    ...servers.tokensPerSecond
      .filter(([requests], i) => i === 0 || requests <= servers.requestsMax)
      .map(([, speed]) => speed),
    speedOf(servers, servers.requestsMax),
  );
}

export function serversOf({ gpus, gpusPerServer }: Cluster['servers']): number {
  return Math.max(1, Math.floor(gpus / gpusPerServer));
}

/** Seconds until all servers have a version. */
export function loadSeconds({ servers, weights }: Cluster): number {
  const { gigabytes, sharedGigabytesPerSecond, serverGigabytesPerSecond } = weights;
  const shared = (gigabytes * serversOf(servers)) / sharedGigabytesPerSecond;
  return weights.loadSeconds + Math.max(gigabytes / serverGigabytesPerSecond, shared);
}
