/**
 * Entry of the worker that writes requests to a training service and reads its replies (passes.ts). It holds
 * one batch at a time: `open`, then `forward`, `took`, `backward`, `finished` by request, then `report`.
 */

import { Moved, serve } from '../../base/index.ts';
import type { Loss, TrainSequence } from '../engine.ts';
import { allPlaces } from '../losses/places.ts';
import { passBody } from './encode.ts';
import { packedBody } from './packed.ts';
import {
  checkLoss,
  type LossAtHand,
  logProbsIn,
  lossAtHand,
  Passes,
  type PassOptions,
} from './passes.ts';

export interface OpenBatch extends PassOptions {
  readonly sequences: readonly TrainSequence[];
  readonly loss: Loss;
}

/** The bodies of one request; `number` is that of the request. */
export interface WriteBody {
  readonly piece: number;
  readonly modelId: string;
  readonly number: number;
}

export interface ReadReply {
  readonly piece: number;
  readonly bytes: Uint8Array;
}

export interface WriteScore extends Pick<PassOptions, 'packed'> {
  readonly sequences: readonly Int32Array[];
  readonly modelId: string;
  readonly number: number;
}

const losses = new Map<string, Promise<LossAtHand>>();
let open: Passes | null = null;

function batch(): Passes {
  if (open === null) throw new Error('no batch is open');
  return open;
}

/** A loss with its settings has one graph. */
function known(loss: Loss): Promise<LossAtHand> {
  const key = JSON.stringify([loss.name, loss.module, loss.settings]);
  const found = losses.get(key) ?? lossAtHand(loss);
  losses.set(key, found);
  found.catch(() => losses.delete(key));
  return found;
}

const moved = (bytes: Uint8Array): Moved => {
  // small buffers are slices of a shared pool
  const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);
  return new Moved(own, [own.buffer as ArrayBuffer]);
};

serve({
  check: async (loss: Loss) => checkLoss(await known(loss)),
  async open({ sequences, loss, ...options }: OpenBatch) {
    open = Passes.open(sequences, await known(loss), options);
    return open.plan;
  },
  forward: ({ piece, modelId, number }: WriteBody) =>
    moved(batch().forwardBody(piece, modelId, number)),
  took: ({ piece, bytes }: ReadReply) => batch().took(piece, bytes),
  backward: async ({ piece, modelId, number }: WriteBody) =>
    moved(await batch().backwardBody(piece, modelId, number)),
  finished: ({ piece, bytes }: ReadReply) => batch().finished(piece, bytes),
  report() {
    const report = batch().report();
    open = null;
    return report;
  },
  /** Places of every token but the first are requested. */
  scoreBody({ sequences, modelId, number, packed }: WriteScore) {
    const data = sequences.map((tokens) => {
      const places = allPlaces(tokens.length);
      return { tokens, values: { places, advantages: null, logProbs: null, weights: null } };
    });
    const body = { route: 'forward', modelId, number, lossFn: 'cross_entropy', data } as const;
    return moved(packed ? packedBody(body) : passBody(body));
  },
  scores: ({ bytes, lengths }: { bytes: Uint8Array; lengths: readonly number[] }) =>
    logProbsIn(bytes, lengths),
});
