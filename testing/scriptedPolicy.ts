/**
 * A policy engine that follows a script. It keeps the contract of a real one: output is cut at `maxTokens`
 * and after the first stop token, and has the loaded version.
 *
 * The script sees what the policy would: the context as text, and a stream of draws tied to the request's key
 * and to the length of its context, like a real sampler's. It returns the text of the next segment, or
 * throws.
 */
import { type Draws, draws } from '../base/index.ts';
import type {
  Checkpoint,
  GenerateRequest,
  Generation,
  PolicyEngine,
  Tokenizer,
} from '../model/index.ts';
import { StopTexts, type TokenBytes, tokenBytes } from '../model/rollout/index.ts';

/** One request as a script sees it: its context, draws tied to it, and the loaded version (-1 = none). */
export interface ScriptLine {
  readonly context: string;
  readonly draws: Draws;
  readonly version: number;
  readonly request: GenerateRequest;
}

/** `script` returns the text of the next segment, or throws. `contextMax` counts tokens; 4,096 by default. */
export interface ScriptedPolicyOptions {
  readonly tokenizer: Tokenizer;
  readonly script: (line: ScriptLine) => string;
  readonly contextMax?: number;
  /** Waits before it answers; at once when absent. */
  readonly delay?: (request: GenerateRequest) => Promise<void>;
  /** Log-probs of one token's most likely alternatives. */
  readonly topLogProbs?: (line: ScriptLine) => readonly number[];
  /** Called with each load, before it takes effect. */
  readonly onLoad?: (weights: Checkpoint) => Promise<void> | void;
}

/** A policy engine that records what it was asked, in order. */
export interface ScriptedPolicy extends PolicyEngine {
  readonly requests: readonly GenerateRequest[];
  readonly loads: readonly Checkpoint[];
  /** Requests being answered. */
  readonly active: number;
}

/** A policy that answers by a script. Log-probs are minus a uniform draw; `topLogProbs` defaults to [0]. */
export function scriptedPolicy(options: ScriptedPolicyOptions): ScriptedPolicy {
  const { tokenizer, script } = options;
  const requests: GenerateRequest[] = [];
  const loads: Checkpoint[] = [];
  let version = -1;
  let active = 0;
  let generatedTokens = 0;

  let table: TokenBytes | undefined;
  /** The index of the token that ends it (-1 = none), and the stop text that it completes, if any. */
  const firstStop = (whole: readonly number[], request: GenerateRequest) => {
    const { tokens, stopTokens, stopTexts = [], stopTextsFrom = tokens.length } = request;
    if (stopTexts.length > 0) table ??= tokenBytes(tokenizer);
    const stops = new StopTexts(stopTexts, table);
    for (const token of tokens.subarray(stopTextsFrom)) stops.completedBy(token);
    for (const [stop, token] of whole.entries()) {
      const text = stops.completedBy(token);
      if (text !== undefined || stopTokens.includes(token)) return { stop, text };
    }
    return { stop: -1, text: undefined };
  };

  const answer = (request: GenerateRequest): Generation => {
    const line = {
      context: tokenizer.decode(request.tokens),
      draws: draws(...request.draws, request.tokens.length),
      version,
      request,
    };
    const whole = [...tokenizer.encode(script(line))];
    const { stop, text } = firstStop(whole, request);
    const said = whole.slice(0, stop < 0 ? undefined : stop + 1);
    const tokens = Int32Array.from(said.slice(0, request.maxTokens));
    generatedTokens += tokens.length;
    const top = options.topLogProbs?.(line) ?? [0];
    return {
      tokens,
      logProbs: Float32Array.from(tokens, (_, i) => -line.draws.uniform(1000 + i)),
      ...(stop >= 0 && said.length <= request.maxTokens
        ? { finish: 'stop', ...(text === undefined ? {} : { stopText: text }) }
        : { finish: 'length' }),
      topLogProbs: [...tokens.subarray(0, request.topLogProbs)].map(() => top),
      version,
    };
  };

  return {
    contextMax: options.contextMax ?? 4096,
    requests,
    loads,
    get active() {
      return active;
    },
    async generate(request, signal) {
      requests.push(request);
      active++;
      try {
        await options.delay?.(request);
        signal?.throwIfAborted();
        return answer(request);
      } finally {
        active--;
      }
    },
    async load(weights) {
      await options.onLoad?.(weights);
      loads.push(weights);
      version = weights.version;
    },
    stats: () => ({ generatedTokens, prefillTokens: 0, busyMs: 0 }),
    close: async () => undefined,
  };
}

/** A delay of some turns of the event loop, drawn for each call: the seed sets the order of completion. */
export function shuffledTurns(seed: number, turnsMax = 6): () => Promise<void> {
  const stream = draws('turns', seed);
  let calls = 0;
  return async () => {
    const turns = stream.integer(calls++, turnsMax + 1);
    for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
  };
}
