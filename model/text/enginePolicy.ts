/**
 * A text model over a policy engine: text in, token ids to the engine, text out.
 *
 * The continuation is encoded by itself and follows the prompt's tokens. Text does not always give back
 * the tokens that it came from, so this is for text that is trained on as text (demonstrations, judgements),
 * not for on-policy rollouts, which keep their tokens.
 */
import type { PolicyEngine, Tokenizer } from '../engine.ts';
import { samplingIn } from '../sampling.ts';
import { cutAfterStop, type TextModel } from './textModel.ts';

/** The engine, its tokenizer, and how a prompt becomes tokens. */
export interface EnginePolicyOptions {
  readonly engine: PolicyEngine;
  readonly tokenizer: Tokenizer;
  /** The chat template with its generation prompt. A template without a place for `system` may omit it. */
  readonly prompt: (prompt: string, system?: string) => Int32Array;
  /**
   * Tokens of a continuation; by default those of its text, tags and all. A trajectory's are its dialect's
   * (`policyModel`).
   */
  readonly encode?: (continuation: string) => Int32Array;
  /**
   * The engine finds stop strings of several tokens (it was started with `tokenBytes`); otherwise they are
   * cut afterwards.
   */
  readonly stopTexts?: boolean;
}

/** The owner closes the engine; closing the model does not. */
export function enginePolicy(options: EnginePolicyOptions): TextModel {
  const { engine, tokenizer } = options;
  const encode = options.encode ?? ((text: string) => tokenizer.encode(text));
  return {
    async complete(request, signal) {
      const { stop = [], continuation = '', draws } = request;
      const prompt = options.prompt(request.prompt, request.system);
      const tokens = Int32Array.from([...prompt, ...encode(continuation)]);
      const maxTokens = Math.min(request.maxTokens, engine.contextMax - tokens.length);
      if (maxTokens < 1) return null;
      const tokensOf = stop.map((text) => tokenOf(tokenizer, text));
      const stopTokens = [tokenizer.endToken, ...tokensOf.flat()];
      const spelt = options.stopTexts ? stop.filter((_, i) => tokensOf[i]!.length === 0) : [];
      const stopTexts = spelt.length === 0 ? {} : { stopTexts: spelt };
      const made = await engine.generate(
        // Draws are tied to places in the context: a longer continuation goes on in the same stream.
        {
          tokens,
          maxTokens,
          ...samplingIn(request),
          stopTokens,
          ...stopTexts,
          draws,
          topLogProbs: 0,
        },
        signal,
      );
      const ended = made.tokens.at(-1) === tokenizer.endToken;
      return cutAfterStop(tokenizer.decode(made.tokens.subarray(0, ended ? -1 : undefined)), stop);
    },
    close: async () => undefined,
  };
}

/** The token that represents exactly this text, if there is one; otherwise the text is cut off afterwards. */
function tokenOf(tokenizer: Tokenizer, text: string): number[] {
  try {
    return [tokenizer.id(text)];
  } catch {
    return [];
  }
}
