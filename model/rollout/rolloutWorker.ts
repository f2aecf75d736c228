/**
 * Entry of the worker that generates: it holds the session, the cache, the decode loop and the sampler.
 */

import { PublishedWeights } from '../adapterFile.ts';
import type { GenerateRequest, WeightsRef } from '../engine.ts';
import { checkPositions } from '../rope.ts';
import { serve } from '../runtime/worker.ts';
import { positionsMax } from './batcher.ts';
import { openOnnxForward } from './onnxForward.ts';
import { RolloutServer, type ServerOptions } from './server.ts';

export interface OpenArgument extends ServerOptions {
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
    const published = new PublishedWeights();
    const load = async ({ path, sha256 }: WeightsRef) => {
      const weights = await published.open(path, sha256);
      try {
        checkPositions(weights.config, options.contextMax);
        return await openOnnxForward(weights, { threads, positionsMax: positionsMax(options) });
      } finally {
        await weights.close();
      }
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
