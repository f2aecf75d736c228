/**
 * Entry of the worker that generates: it holds the session, the cache, the decode loop and the sampler.
 */
import type { GenerateRequest, WeightsRef } from '../engine.ts';
import { loadPolicy } from '../policyFile.ts';
import { serve } from '../runtime/worker.ts';
import { type BatcherOptions, positionsMax } from './batcher.ts';
import { openOnnxForward } from './onnxForward.ts';
import { RolloutServer } from './server.ts';

export interface OpenArgument extends BatcherOptions {
  readonly weights: WeightsRef;
  readonly threads: number;
}

let server: RolloutServer | undefined;

function running(): RolloutServer {
  if (!server) throw new Error('the rollout worker was not opened');
  return server;
}

serve({
  async open({ weights, threads, ...options }: OpenArgument) {
    const load = async ({ path, sha256 }: WeightsRef) => {
      const { config, tensors } = await loadPolicy(path, sha256);
      return openOnnxForward(config, tensors, { threads, positionsMax: positionsMax(options) });
    };
    server = await RolloutServer.start(load, options, weights);
  },
  async generate({ id, request }: { id: number; request: GenerateRequest }) {
    const generation = await running().generate(id, request);
    return { generation, counts: running().counts };
  },
  cancel({ id }: { id: number }) {
    running().cancel(id);
  },
  load(weights: WeightsRef) {
    return running().load(weights);
  },
  close() {
    return server?.close();
  },
});
