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
  /** `weights` are opened by the first request, unless others are loaded before. */
  readonly lazy: boolean;
}

/** Opens the first weights, those of `open` by default, and starts the server with them. */
let start: (first?: Checkpoint) => Promise<RolloutServer> = () =>
  Promise.reject(new Error('the rollout worker was not opened'));
let server: Promise<RolloutServer> | undefined;
let device: Device = cpuDevice;

function running(): Promise<RolloutServer> {
  return server ?? started();
}

/** The server, started. If its first weights are refused, the next ones may start it. */
async function started(first?: Checkpoint): Promise<RolloutServer> {
  server = start(first);
  try {
    return await server;
  } catch (error) {
    server = undefined;
    throw error;
  }
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
  async open({ weights, threads, place, bits, lazy, ...options }: OpenArgument) {
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
    start = (first = weights) => RolloutServer.start(load, options, first);
    if (!lazy) await started();
  },
  async generate({ id, request }: { id: number; request: GenerateRequest }) {
    const engine = await running();
    const generation = await engine.generate(id, request);
    return { generation, counts: engine.counts };
  },
  async cancel({ id }: { id: number }) {
    (await running()).cancel(id);
  },
  async load(weights: Checkpoint) {
    if (server === undefined) await started(weights);
    else await (await server).load(weights);
  },
  async close() {
    await (await server?.catch(() => undefined))?.close();
    await device.close();
  },
});
