/**
 * A model that is arithmetic on its cache: the probabilities after a context are a hash of the keys and
 * values it was given, so one wrong, stale or misplaced row shows as another token. `expected` computes the
 * same without a cache.
 */
import { draws } from '../../../base/draws.ts';
import type { GenerateRequest } from '../../../model/engine.ts';
import type {
  DecodeOutput,
  Forward,
  ForwardInput,
  NewRows,
} from '../../../model/rollout/forward.ts';
import { sample } from '../../../model/rollout/sampler.ts';

export const VOCAB = 16;
/** The highest logit that the fake claims. */
const PEAK = 3;
const SHAPE = { layers: 2, kvHeads: 2, headDim: 4 };

/** What layer, head and place store for a token. */
function entry(token: number, position: number, layer: number, head: number, dim: number): number {
  return Math.fround(Math.sin(1 + token * 3.7 + position * 0.31 + layer * 1.3 + head * 2.1 + dim));
}

/** Softmax of logits for a number. */
function sharesOf(sum: number, salt: number): Float32Array {
  const weights = Array.from({ length: VOCAB }, (_, i) => {
    return Math.exp(3 * Math.sin(sum * 17 + i * 5.3 + salt));
  });
  const total = weights.reduce((before, weight) => before + weight, 0);
  return Float32Array.from(weights, (weight) => weight / total);
}

export class FakeForward implements Forward {
  readonly shape = SHAPE;
  readonly vocabSize = VOCAB;
  readonly rowsMin: number;
  readonly salt: number;
  /** Rows and width of each call, in order. */
  readonly calls: { pass: 'prefill' | 'decode'; rows: number; width: number }[] = [];
  released = false;
  failure: Error | undefined;

  constructor(salt = 0, rowsMin = 1) {
    this.salt = salt;
    this.rowsMin = rowsMin;
  }

  async prefill(input: ForwardInput): Promise<NewRows> {
    await this.#called('prefill', input);
    return newRows(input);
  }

  async decode(input: ForwardInput): Promise<DecodeOutput> {
    await this.#called('decode', input);
    const fresh = newRows(input);
    const shares = new Float32Array(input.rows * VOCAB);
    for (let row = 0; row < input.rows; row++) {
      shares.set(sharesOf(this.#sum(input, fresh, row), this.salt), row * VOCAB);
    }
    return { shares, peaks: new Float32Array(input.rows).fill(PEAK), ...fresh };
  }

  async release(): Promise<void> {
    this.released = true;
  }

  async #called(pass: 'prefill' | 'decode', { rows, width }: ForwardInput): Promise<void> {
    if (rows < this.rowsMin) throw new Error(`${rows} rows are too few`);
    if (this.released) throw new Error('used after release');
    await new Promise(setImmediate);
    if (this.failure) throw this.failure;
    this.calls.push({ pass, rows, width });
  }

  /** Everything a row's context left in the cache, in the order of its positions, and its own entries. */
  #sum({ capacity, positions, keys, values }: ForwardInput, fresh: NewRows, row: number): number {
    const { layers, kvHeads, headDim } = SHAPE;
    let sum = 0;
    for (let position = 0; position <= positions[row]!; position++) {
      for (let layer = 0; layer < layers; layer++) {
        for (let head = 0; head < kvHeads; head++) {
          const own = position === positions[row];
          const place = row * kvHeads + head;
          const at = (own ? place : place * capacity + position) * headDim;
          const [key, value] = own ? [fresh.keys, fresh.values] : [keys, values];
          for (let dim = 0; dim < headDim; dim++) {
            sum = sum * 0.9 + key[layer]![at + dim]! - 0.5 * value[layer]![at + dim]!;
          }
        }
      }
    }
    return sum;
  }
}

function newRows({ rows, width, tokens, positions }: ForwardInput): NewRows {
  const { layers, kvHeads, headDim } = SHAPE;
  const make = (scale: number) =>
    Array.from({ length: layers }, (_, layer) => {
      const data = new Float32Array(rows * kvHeads * width * headDim);
      let at = 0;
      for (let row = 0; row < rows; row++) {
        for (let head = 0; head < kvHeads; head++) {
          for (let t = 0; t < width; t++) {
            const place = row * width + t;
            for (let dim = 0; dim < headDim; dim++) {
              data[at++] = scale * entry(tokens[place]!, positions[place]!, layer, head, dim);
            }
          }
        }
      }
      return data;
    });
  return { keys: make(1), values: make(2) };
}

/** The tokens and log-probs that a request must get, computed alone and from the start. */
export function expected(request: GenerateRequest, contextMax: number, salt = 0) {
  const context = [...request.tokens];
  const logProbs: number[] = [];
  const uniforms = draws(...request.draws);
  const end = Math.min(contextMax, context.length + request.maxTokens);
  while (context.length < end) {
    const { temperature } = request;
    const uniform = uniforms.uniform(context.length);
    const shaping = {
      temperature,
      topK: request.topK ?? 0,
      topP: request.topP ?? 1,
      minP: request.minP ?? 0,
      repetitionPenalty: request.repetitionPenalty ?? 1,
    };
    const repeated = { tokens: new Set(context), peak: PEAK };
    const options = { shaping, repeated, uniform, top: 0, entropy: false };
    const sampled = sample(sharesOf(wholeSum(context), salt), options);
    context.push(sampled.token);
    logProbs.push(Math.fround(sampled.logProb));
    if (request.stopTokens.includes(sampled.token)) break;
  }
  return { tokens: context.slice(request.tokens.length), logProbs };
}

function wholeSum(context: readonly number[]): number {
  const { layers, kvHeads, headDim } = SHAPE;
  let sum = 0;
  for (const [position, token] of context.entries()) {
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < kvHeads; head++) {
        for (let dim = 0; dim < headDim; dim++) {
          const key = entry(token, position, layer, head, dim);
          sum = sum * 0.9 + key - 0.5 * Math.fround(2 * key);
        }
      }
    }
  }
  return sum;
}

/** A request with defaults. */
export function request(
  tokens: readonly number[],
  more: Partial<GenerateRequest> = {},
): GenerateRequest {
  return {
    tokens: Int32Array.from(tokens),
    maxTokens: 8,
    temperature: 1,
    stopTokens: [],
    draws: ['test'],
    topLogProbs: 0,
    ...more,
  };
}
