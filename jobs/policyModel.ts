/**
 * The job's policy as a text model: what the flywheel asks for trajectories, in the papers' tag form whatever
 * the policy's dialect.
 */
import { type PolicyEngine, samplingIn } from '../model/index.ts';
import { cutAfterStop, enginePolicy, type TextModel } from '../model/text/index.ts';
import { type Dialect, endTokens } from '../operators/dialect/index.ts';

/** What the policy generates with, and how it writes. */
export interface PolicyModelOptions {
  readonly engine: PolicyEngine;
  readonly dialect: Dialect;
}

/** The prompt is the question; a continuation is a trajectory so far. The engine stays its owner's. */
export function policyModel(options: PolicyModelOptions): TextModel {
  const { engine, dialect } = options;
  if (dialect.piece !== undefined) return translated(options);
  return enginePolicy({
    engine,
    tokenizer: dialect.tokenizer,
    prompt: (question) => dialect.prompt(question),
    encode: (trajectory) => dialect.continuation(trajectory),
    stopTexts: dialect.stopTexts.length > 0,
  });
}

/** A turn is generated to its end in the policy's own way, then written in the form of a trajectory. */
function translated({ engine, dialect }: PolicyModelOptions): TextModel {
  const { tokenizer, stopTokens, stopTexts } = dialect;
  const ends = endTokens(tokenizer);
  return {
    async complete(request, signal) {
      const { stop = [], continuation = '', draws } = request;
      const before = dialect.continuation(continuation);
      const tokens = Int32Array.from([...dialect.prompt(request.prompt), ...before]);
      const maxTokens = Math.min(request.maxTokens, engine.contextMax - tokens.length);
      if (maxTokens < 1) return null;
      const made = await engine.generate(
        {
          tokens,
          maxTokens,
          ...samplingIn(request),
          stopTokens,
          ...(stopTexts.length === 0 ? {} : { stopTexts }),
          draws,
          topLogProbs: 0,
        },
        signal,
      );
      const own = made.tokens.filter((token) => !ends.includes(token));
      const ended = made.finish === 'stop';
      const text = dialect.piece!(continuation, tokenizer.decode(own), ended);
      return cutAfterStop(text, stop);
    },
    close: async () => undefined,
  };
}
