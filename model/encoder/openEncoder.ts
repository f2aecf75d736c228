/**
 * Opens a Hugging Face encoder folder (E5, BGE and any other BERT or XLM-RoBERTa): tokenizer, network
 * and pooling run in a thread of their own.
 */
import { halfOfThem, startWorker, workerEntry } from '../../base/index.ts';
import type { OpenEncoder } from './encoder.ts';
import type { EncodeCall, OpenEncoderCall, OpenedEncoder } from './encoderWorker.ts';

/** Texts sent to the thread at once; signals are checked in between. */
const TEXTS = 64;

/**
 * Rejects with `CHECKPOINT`, `MODEL_CONFIG` or `TOKENIZER`, naming the file, if the folder cannot be used.
 */
export const openEncoder: OpenEncoder = async (folder, options = {}) => {
  const threads = options.threads ?? halfOfThem();
  const worker = startWorker(workerEntry('encoderWorker', import.meta.url));
  const opening: OpenEncoderCall = { folder, options, threads };
  const { dimensions, settings, digest } = await worker
    .call<OpenedEncoder>('open', opening)
    .catch(async (error: unknown) => {
      await worker.close();
      throw error;
    });
  return {
    ...{ dimensions, settings, digest },
    async encode(texts, as, signal) {
      const vectors = new Float32Array(texts.length * dimensions);
      // Texts of similar length go together, so that a batch has less padding.
      const order = [...texts.keys()].sort((a, b) => texts[a]!.length - texts[b]!.length || a - b);
      for (let start = 0; start < order.length; start += TEXTS) {
        signal.throwIfAborted();
        const part = order.slice(start, start + TEXTS);
        const call: EncodeCall = { texts: part.map((index) => texts[index]!), as };
        const found = await worker.call<Float32Array>('encode', call);
        for (const [row, index] of part.entries())
          vectors.set(found.subarray(row * dimensions, (row + 1) * dimensions), index * dimensions);
      }
      signal.throwIfAborted();
      return vectors;
    },
    close: () => worker.close(),
  };
};
