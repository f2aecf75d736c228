/**
 * What a training service does, tested before training on a temporary model. Services differ where their
 * documents are silent: how losses add up, whether a repeated request is recognised by its number, and which
 * of the optimiser's settings they use.
 *
 * A rate of 0 changes no weights, so the first three steps leave the model as it was.
 */
import { MillraceError } from '../../base/index.ts';
import type { Future } from './client.ts';
import { passBody } from './encode.ts';
import { logProbsIn, type Reduction } from './passes.ts';
import type { AdamParams, Pass, RemoteModel } from './remoteModel.ts';

export interface Found {
  readonly reduction: Reduction;
  /** A request that is sent again under its number is the same request. */
  readonly deduplicates: boolean;
  /** Whether beta1, beta2, epsilon and the decay are used, or those that the service was started with. */
  readonly adam: boolean;
  /** Whether gradients are scaled down to the requested norm; null = unknown. */
  readonly clips: boolean | null;
}

/** Tokens that every vocabulary has. */
export const PROBE_TOKENS = Int32Array.from({ length: 16 }, (_, index) => index + 1);
const PLACES = Array.from({ length: PROBE_TOKENS.length - 1 }, (_, index) => index + 1);
/** Small, so that a service that scales gradients down to a norm of 1 leaves it alone. */
const ADVANTAGE = 0.01;
const NEAR = 0.02;
/** Log-probs that moved by more than this have moved. */
const MOVED = 1e-4;

const STILL: AdamParams = {
  ...{ lr: 0, beta1: 0.9, beta2: 0.95, eps: 1e-8 },
  ...{ weightDecay: 0, gradNormMax: 0 },
};
/** So large that a step moves nothing, whatever the gradient. */
const HUGE_EPSILON = 1e12;
const PROBE_LR = 0.01;

/** `reduction` = the user's setting; null = test it. This changes the model. */
export async function probe(
  model: RemoteModel,
  { reduction, clips }: { readonly reduction: Reduction | null; readonly clips: boolean },
): Promise<Found> {
  const send = passes(model);
  const deduplicates = await sameFuture(model);
  const before = await send.logProbs();
  const backward = async (times: number, weight: number) => {
    for (let i = 0; i < times; i++) await send.backward(before, weight);
  };
  const norms = async (times: number, weight: number) => {
    await backward(times, weight);
    return model.optimise(STILL);
  };
  const found = reduction ?? reductionOf(await norms(1, 1), await norms(2, 1), await norms(1, 0.5));
  await backward(1, 1);
  await model.optimise({ ...STILL, lr: PROBE_LR, eps: HUGE_EPSILON });
  const adam = !hasMoved(before, await send.logProbs());
  if (!clips || !adam) return { reduction: found, deduplicates, adam, clips: adam ? null : false };
  return { reduction: found, deduplicates, adam, clips: await clipsGradients(model, send) };
}

/**
 * With an epsilon far above the gradient a step is as large as the gradient is, so scaling it down shows;
 * without betas earlier steps play no part. So little is left that it shows nothing where log-probs are
 * steep: their slope is in the thousands when all weights of a real model are trained.
 */
async function clipsGradients(model: RemoteModel, send: Passes): Promise<boolean> {
  const before = await send.logProbs();
  await send.backward(before, 1);
  const forgetful = { beta1: 0, beta2: 0 };
  await model.optimise({ ...STILL, ...forgetful, lr: 100, eps: 1, gradNormMax: 1e-12 });
  return !hasMoved(before, await send.logProbs());
}

function hasMoved(before: Float32Array, after: Float32Array): boolean {
  return before.some((value, index) => Math.abs(value - (after[index] as number)) > MOVED);
}

function reductionOf(one: number, twice: number, half: number): Reduction {
  const near = (value: number, goal: number) => Math.abs(value / one - goal) < NEAR;
  if (near(twice, 1) && near(half, 1)) return 'sequence-mean';
  if (near(twice, 2) && near(half, 0.5)) return 'sum';
  throw new MillraceError(
    'TRAINER_REDUCTION',
    Number.isFinite(one) && one > 0
      ? `the training service sums losses in an unknown way (gradient norms: ${one} for a sequence, ${twice} for the sequence twice, ${half} at half its weight): ` +
          'set trainer.reduction to sum or sequence-mean'
      : 'the training service does not report gradient norms, so how it sums losses cannot be measured: set trainer.reduction to sum or sequence-mean',
    { context: { one, twice, half } },
  );
}

/**
 * Two equal requests under one number: a service that knows repetitions answers with the first one's future.
 */
async function sameFuture(model: RemoteModel): Promise<boolean> {
  const body = bodyOf(model, 'forward', 'cross_entropy', { logProbs: null, weight: 1 });
  const [first, second] = [
    await model.submit('forward', body),
    await model.submit('forward', body),
  ];
  await model.result(first);
  if (first.id === second.id) return true;
  await model.result(second);
  return false;
}

interface Passes {
  logProbs(): Promise<Float32Array>;
  backward(logProbs: Float32Array, weight: number): Promise<void>;
}

function passes(model: RemoteModel): Passes {
  return {
    logProbs: () => probeLogProbs(model),
    async backward(logProbs, weight) {
      const body = bodyOf(model, 'forward_backward', 'importance_sampling', { logProbs, weight });
      await model.result(await model.submit('forward_backward', body));
    },
  };
}

/** Log-probs of the probe's tokens: what a model says about them distinguishes its weights from others. */
export async function probeLogProbs(model: RemoteModel): Promise<Float32Array> {
  return probeResult(model, await submitProbe(model));
}

/** The same in two parts, so that other requests can follow at once. */
export function submitProbe(model: RemoteModel): Promise<Future> {
  const body = bodyOf(model, 'forward', 'cross_entropy', { logProbs: null, weight: 1 });
  return model.submit('forward', body);
}

export async function probeResult(model: RemoteModel, future: Future): Promise<Float32Array> {
  const { bytes } = await model.result(future);
  return logProbsIn(bytes, [PLACES.length])[0] as Float32Array;
}

function bodyOf(
  model: RemoteModel,
  route: Pass,
  lossFn: string,
  { logProbs, weight }: { readonly logProbs: Float32Array | null; readonly weight: number },
): Uint8Array {
  const all = (value: number) => PLACES.map(() => value);
  const advantages = logProbs === null ? null : all(ADVANTAGE);
  const values = { places: PLACES, advantages, logProbs, weights: all(weight) };
  const data = [{ tokens: PROBE_TOKENS, values }];
  return passBody({ route, modelId: model.id, number: model.nextNumber(), lossFn, data });
}
