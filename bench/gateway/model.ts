/**
 * The model's server of `bench:gateway`: vLLM's wire, and the same answer to every prompt, a thought and a
 * function call, after a time for each token that is asked for. A process of its own, so that what it costs
 * is not counted.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Generation } from '../../model/engine.ts';
import { loadChatTokenizer } from '../../model/hf/index.ts';
import { engineServer } from '../../test/support/engineServer.ts';
import { scriptedPolicy } from '../../testing/scriptedPolicy.ts';
import type { Pace } from './messages.ts';

const ANSWER =
  'The corpus should say when the bridge was built, so I look for the town and its river first, and for the ' +
  'builder after that.\n<tool_call>\n{"name": "search", "arguments": {"query": "who built the seven bridges of ' +
  'the town that the river runs through", "limit": 5}}\n</tool_call><|im_end|>';

const tokenizer = await loadChatTokenizer(process.argv[2]!);
const answer = Int32Array.from(tokenizer.encode(ANSWER));
let tokenMs = 0;
const generate = async ({ maxTokens }: { readonly maxTokens: number }): Promise<Generation> => {
  if (tokenMs > 0) await pause(maxTokens * tokenMs);
  const tokens = answer.slice(0, maxTokens);
  const logProbs = Float32Array.from(tokens, (token) => -((token % 97) + 0.5) / 97);
  const finish = tokens.length < answer.length ? 'length' : 'stop';
  return { tokens, logProbs, finish, topLogProbs: [...tokens].map(() => [-0.1, -2.4]), version: 0 };
};
const engine = {
  ...scriptedPolicy({ tokenizer, script: () => '', contextMax: 32_768 }),
  generate,
};
const server = await engineServer({ engine, tokenizer });

process.on('message', (pace: Pace) => {
  tokenMs = pace.tokenMs;
  process.send?.({});
});
process.send?.({ url: server.url });
