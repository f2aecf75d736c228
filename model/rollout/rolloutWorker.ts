/**
 * Entry of the worker that generates: it holds the session, the cache, the decode loop and the sampler.
 */

import { serve, startWorker, workerEntry } from '../../base/index.ts';
import { readingVersion } from '../checkpoints/digest.ts';
import { localPath } from '../checkpoints/local.ts';
import type { Checkpoint, GenerateRequest } from '../engine.ts';
import { PublishedWeights } from '../hf/publishedAdapter.ts';
import type { WeightBits } from '../lowering/cached.ts';
import { checkPositions } from '../rope.ts';
import { cpuDevice, type Device, openDevice } from '../runtime/device.ts';
import type { Place } from '../runtime/place.ts';
import { tryOut } from '../runtime/tryOut.ts';
import { positionsMax } from './batcher.ts';
import type { Forward } from './forward.ts';
import { openOnnxForward } from './onnxForward.ts';
import { RolloutServer, type ServerOptions } from './server.ts';
import { generationTrial } from './trial.ts';

export interface OpenArgument extends ServerOptions {
  readonly weights: Checkpoint;
  readonly threads: number;
  readonly place: Place;
  readonly bits: WeightBits;
}

let server: RolloutServer | undefined;
let device: Device = cpuDevice;

function running(): RolloutServer {
  if (!server) throw new Error('the rollout worker was not opened');
  return server;
}

/** The model, once its weights have been checked. */
async function unlessRefused(forward: Forward, checked: Promise<void>): Promise<Forward> {
  try {
    await checked;
    return forward;
  } catch (error) {
    await forward.release();
    throw error;
  }
}

serve({
  async open({ weights, threads, place, bits, ...options }: OpenArgument) {
    device = await openDevice(place);
    let trusted = place.provider === 'cpu';
    const digests = startWorker(workerEntry('digestWorker', import.meta.url));
    const published = new PublishedWeights((path) => digests.call('digest', path));
    const read = async (checkpoint: Checkpoint) => {
      const weights = await published.open(localPath(checkpoint), checkpoint.digest ?? '');
      try {
        checkPositions(weights.config, options.contextMax);
        if (!trusted) await tryOut(device, [generationTrial(weights.config)]);
        trusted = true;
        const sizes = { threads, positionsMax: positionsMax(options), device, bits };
        return await unlessRefused(await openOnnxForward(weights, sizes), weights.checked);
      } finally {
        await weights.close();
      }
    };
    const load = (checkpoint: Checkpoint) => readingVersion(checkpoint, () => read(checkpoint));
    server = await RolloutServer.start(load, options, weights);
  },
  async generate({ id, request }: { id: number; request: GenerateRequest }) {
    const generation = await running().generate(id, request);
    return { generation, counts: running().counts };
  },
  cancel({ id }: { id: number }) {
    running().cancel(id);
  },
  load(weights: Checkpoint) {
    return running().load(weights);
  },
  async close() {
    await server?.close();
    await device.close();
  },
});
