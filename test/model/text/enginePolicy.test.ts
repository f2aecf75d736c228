import { describe, expect, it } from '@jest/globals';
import { enginePolicy } from '../../../model/text/enginePolicy.ts';
import type { TextRequest } from '../../../model/text/textModel.ts';
import { scriptedPolicy } from '../../../testing/scriptedPolicy.ts';
import { tinyWords } from '../../support/tinyWords.ts';

const prompt = (text: string) => tinyWords.encode(`${text}?`);
const ask: TextRequest = {
  draws: [7, 'q', 'a'],
  prompt: 'What is one',
  continuation: '<search>two',
  stop: ['</search>', 'no token'],
  maxTokens: 9,
  temperature: 0.5,
};

describe('a policy engine as a text model', () => {
  it('is asked with the prompt’s tokens, then the continuation’s, and how to sample', async () => {
    const engine = scriptedPolicy({ tokenizer: tinyWords, script: () => '</search>' });
    await enginePolicy({ engine, tokenizer: tinyWords, prompt }).complete({ ...ask, topP: 0.9 });
    expect(engine.requests).toEqual([
      {
        tokens: Int32Array.from([...prompt('What is one'), ...tinyWords.encode('<search>two')]),
        maxTokens: 9,
        temperature: 0.5,
        topP: 0.9,
        topK: 0,
        minP: 0,
        repetitionPenalty: 1,
        stopTokens: [tinyWords.endToken, tinyWords.id('</search>')],
        draws: [7, 'q', 'a'],
        topLogProbs: 0,
      },
    ]);
  });

  it('encodes a continuation as instructed', async () => {
    const engine = scriptedPolicy({ tokenizer: tinyWords, script: () => 'one' });
    const encode = (text: string) => tinyWords.encode(text, { tags: false });
    await enginePolicy({ engine, tokenizer: tinyWords, prompt, encode }).complete(ask);
    expect([...engine.requests[0]!.tokens]).not.toContain(tinyWords.id('<search>'));
  });
});
