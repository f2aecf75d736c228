/**
 * The policy of a simulated process: the real client of inference servers, over simulated ones. Created when
 * first needed, as not every part of a run uses the policy.
 *
 * Its results are checked: they must match the version that they name.
 */
import type { Draws } from '../../base/index.ts';
import type { GenerateRequest, Generation, PolicyEngine } from '../../model/index.ts';
import {
  publishAdapter,
  publishFromDisk,
  RemoteEngine,
  requestSeed,
  sglang,
  vllm,
} from '../../model/remote/index.ts';
import { tokenBytes } from '../../model/rollout/index.ts';
import type { Life } from './life.ts';
import {
  addresses,
  BASE_MODEL,
  CONTEXT_MAX,
  exchangeWith,
  type SimulatedServer,
  type Weather,
} from './servers.ts';
import type { VirtualClock } from './virtualClock.ts';
import { words } from './words.ts';

export interface EngineOptions {
  readonly life: Life;
  readonly clock: VirtualClock;
  readonly servers: readonly SimulatedServer[];
  readonly draws: Draws;
  /** Of one token. */
  readonly tokenMs: number;
  /**
   * `live`: generations continue, with their weights, while others are loaded; `drain`: a load waits for
   * them.
   */
  readonly swap: 'live' | 'drain';
  readonly weather: () => Weather;
  /** Called when each request begins and ends. */
  readonly busy: (request: GenerateRequest, now: boolean) => void;
  /** Called with violations. */
  readonly broken: (what: string) => void;
}

const TIMEOUT_MS = 5_000;
const AWAY_MAX_MS = 120_000;

export function simulatedEngine(options: EngineOptions): PolicyEngine {
  const { life, busy, broken, servers } = options;
  let made: Promise<RemoteEngine> | null = null;
  const engine = (): Promise<RemoteEngine> => {
    made ??= clientOf(options);
    return made;
  };
  const look = async (request: GenerateRequest, { tokens, logProbs, version }: Generation) => {
    const right = await servers[0]!.says(version, {
      ...{ tokens: [...request.tokens], maxTokens: request.maxTokens, tops: false },
      ...{ stopTokens: request.stopTokens, seed: requestSeed(request) },
    });
    if (right.tokens.join() === tokens.join() && right.logProbs.join() === logProbs.join()) return;
    broken(`a generation is said to be of version ${version}, and another one wrote it`);
  };
  return {
    contextMax: CONTEXT_MAX,
    async generate(request, signal) {
      life.passes('generate');
      busy(request, true);
      try {
        const generation = await (await engine()).generate(request, signal);
        life.passes('generated');
        await look(request, generation);
        return generation;
      } finally {
        busy(request, false);
      }
    },
    async load(weights) {
      life.passes('load');
      await (await engine()).load(weights);
    },
    stats: () => ({ generatedTokens: 0, prefillTokens: 0, busyMs: 0 }),
    close: async () => (await made?.catch(() => undefined))?.close(),
  };
}

function clientOf({ swap, ...options }: EngineOptions): Promise<RemoteEngine> {
  const { life, servers } = options;
  return RemoteEngine.create({
    ...{ urls: addresses(servers.length), clock: life.clock, tokenBytes: tokenBytes(words) },
    ...{ timeoutMs: TIMEOUT_MS, awayMaxMs: AWAY_MAX_MS, waitingMax: Number.MAX_SAFE_INTEGER },
    exchange: exchangeWith({ ...options, timeoutMs: TIMEOUT_MS }),
    ...(swap === 'drain'
      ? { wire: sglang, publisher: publishFromDisk(({ uri }) => uri) }
      : {
          ...{ wire: vllm, model: BASE_MODEL },
          publisher: publishAdapter(({ version, uri }) => (version === 0 ? null : uri)),
        }),
  });
}
