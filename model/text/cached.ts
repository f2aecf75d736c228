/**
 * A text model that asks nothing twice: its replies are kept by what was asked, so that a resumed or replayed
 * run gets the same text at no cost.
 *
 * A reply is found again only for the very same request to the very same model: draws, texts, stops and
 * sampling. The session is left out, since it says where to ask, not what. A request that the model gave up
 * is not kept.
 */
import { createHash } from 'node:crypto';
import { MillraceError } from '../../base/index.ts';
import type { ReplyStore } from './replyStore.ts';
import type { TextModel, TextRequest } from './textModel.ts';

/** Which model's replies to keep, and where. */
export interface CachedOptions {
  /** What else decides the model's replies: its name, its version. */
  readonly id: string;
  /** The owner closes it; closing the model does not. */
  readonly replies: ReplyStore;
  /**
   * What to do with a request whose reply is not kept (default `ask`); `fail` = code `MODEL_UNRECORDED`, for
   * a replay.
   */
  readonly missing?: 'ask' | 'fail';
}

/** `model` with its replies kept in `replies`. A request already under way is not made twice. */
export function cached(model: TextModel, options: CachedOptions): TextModel {
  const { id, replies, missing = 'ask' } = options;
  /** Requests under way; bounded by the model's own limit. */
  const asking = new Map<string, Promise<string | null>>();

  const ask = async (key: string, request: TextRequest, signal?: AbortSignal) => {
    if (missing === 'fail') throw unrecorded(id, request);
    const text = await model.complete(request, signal);
    if (text !== null) await replies.put(key, text);
    return text;
  };
  const askOnce = async (key: string, request: TextRequest, signal?: AbortSignal) => {
    const asked = ask(key, request, signal);
    asking.set(key, asked);
    try {
      return await asked;
    } finally {
      asking.delete(key);
    }
  };

  return {
    async complete(request, signal) {
      signal?.throwIfAborted();
      const key = keyOf(id, request);
      // The request that asked first may fail for a reason of its own (its signal, for example); then this
      // one asks.
      while (asking.has(key)) await asking.get(key)?.catch(() => undefined);
      signal?.throwIfAborted();
      return replies.get(key) ?? askOnce(key, request, signal);
    },
    close: () => model.close(),
  };
}

/** Digest of the model and everything in the request that can change the text. */
export function keyOf(id: string, request: TextRequest): string {
  const { draws, system, prompt, continuation = '', stop = [], maxTokens, temperature } = request;
  const { topP = 1, topK = 0, minP = 0, repetitionPenalty = 1 } = request;
  const sampling = [maxTokens, temperature, topP, topK, minP, repetitionPenalty];
  const all = [id, draws, system ?? null, prompt, continuation, stop, sampling];
  return createHash('sha256').update(JSON.stringify(all)).digest('hex');
}

function unrecorded(id: string, { draws }: TextRequest): MillraceError {
  const name = draws.join('/');
  return new MillraceError(
    'MODEL_UNRECORDED',
    `no reply of ${id} to ${name} is recorded: the recorded run asked something else; replay it with its own settings`,
    { context: { id, name } },
  );
}
