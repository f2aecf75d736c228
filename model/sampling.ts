/**
 * How tokens are drawn from the policy's distribution, as part of a request. As settings:
 * `model/text/samplingSettings.ts`.
 *
 * It only shapes draws. Log-probs and entropies in the result are of the policy itself: at temperature 1,
 * over the whole vocabulary, as the trainer computes them (docs/losses.md).
 */

/**
 * How tokens are drawn. Only `temperature` is required; the rest, if left out, draws from all tokens without
 * penalty.
 */
export interface Sampling {
  /** 0 = greedy. */
  readonly temperature: number;
  /** Draw from the fewest most probable tokens that have at least this share; 1 (unless given) = from all. */
  readonly topP?: number;
  /** Draw from only this many of the most probable tokens; 0 (unless given) = from all. */
  readonly topK?: number;
  /** Draw from tokens with at least this part of the highest probability; 0 (unless given) = from all. */
  readonly minP?: number;
  /** Logits of tokens in the context are divided by this where positive, else multiplied; 1 unless given. */
  readonly repetitionPenalty?: number;
}

/** The sampling among other options, whole. */
export function samplingIn(options: Sampling): Required<Sampling> {
  const { temperature, topP = 1, topK = 0, minP = 0, repetitionPenalty = 1 } = options;
  return { temperature, topP, topK, minP, repetitionPenalty };
}

/** The options that shape the distribution beyond its temperature, by name. */
export function shapedBy(sampling: Sampling): string[] {
  const { topP, topK, minP, repetitionPenalty } = samplingIn(sampling);
  const shaping = {
    topP: topP !== 1,
    topK: topK !== 0,
    minP: minP !== 0,
    repetitionPenalty: repetitionPenalty !== 1,
  };
  return Object.entries(shaping).flatMap(([name, shapes]) => (shapes ? [name] : []));
}

/** In words, as shown with an accuracy: `greedy`, `temperature 0.6, top-p 0.95`. */
export function describeSampling(sampling: Sampling): string {
  const { temperature, topP, topK, minP, repetitionPenalty } = samplingIn(sampling);
  return [
    temperature === 0 ? 'greedy' : `temperature ${temperature}`,
    ...(topP === 1 ? [] : [`top-p ${topP}`]),
    ...(topK === 0 ? [] : [`top-k ${topK}`]),
    ...(minP === 0 ? [] : [`min-p ${minP}`]),
    ...(repetitionPenalty === 1 ? [] : [`repetition penalty ${repetitionPenalty}`]),
  ].join(', ');
}
