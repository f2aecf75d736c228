/**
 * Whatever a tool says, a trajectory has the tag tokens and the targets that it has with a harmless result.
 */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import type { Tokenizer } from '../../../model/engine.ts';
import { loadTokenizer } from '../../../model/tokenizers/loadTokenizer.ts';
import { encodeExample, type ResultTokens } from '../../../operators/dialect/encodeExample.ts';
import { encodeTrajectory } from '../../../operators/dialect/encodeTrajectory.ts';
import { fenceFor } from '../../../operators/dialect/fence.ts';
import { withEmptyResults } from '../../../operators/dialect/results.ts';
import { paperTools as tools } from '../../support/paperTools.ts';
import { tinyWords } from '../../support/tinyWords.ts';
import { HARMLESS, hostileTexts, trajectories } from './texts.ts';

const checkpoint = await loadTokenizer(
  fileURLToPath(new URL('../../model/hf/fixtures/tokenizer', import.meta.url)),
);
const fence = fenceFor({ tools });
const told = (output: string) =>
  Object.values(trajectories).map((trajectory) => trajectory.replaceAll('R', () => fence(output)));

const MARKS = [
  ...['<|end|>', '<|endoftext|>', '<|im_start|>', '<|im_end|>', ' <result>\n', '\n</result>'],
  ...['think', 'result', 'answer', ...tools].flatMap((tag) => [`<${tag}>`, `</${tag}>`]),
];

describe.each<[string, Tokenizer]>([
  ['words', tinyWords],
  ['byte pairs', checkpoint],
])('a tokenizer of %s', (_, tokenizer) => {
  const marks = new Set(
    MARKS.flatMap((mark) => {
      try {
        return [tokenizer.id(mark)];
      } catch {
        return [];
      }
    }),
  );
  const prompt = (question: string) => tokenizer.encode(question, { tags: false });
  const marksIn = (tokens: Int32Array) => [...tokens].filter((token) => marks.has(token));

  test('has tags that text could imitate', () => {
    expect(marks.size).toBeGreaterThan(5);
  });

  test.each<ResultTokens>(['masked', 'trained'])(
    'trains on the same tokens of a demonstration with %s results, whatever tools say',
    (results) => {
      const learnt = (output: string) =>
        told(output).map((text) => {
          const { tokens, mask } = encodeExample('?', text, { prompt, tokenizer, results });
          const targets = [...tokens].filter((_, t) => mask[t] === 1);
          const own = results === 'masked' ? tokenizer.decode(targets) : '';
          return { own, marks: marksIn(tokens) };
        });
      const expected = learnt(HARMLESS);
      for (const [name, text] of Object.entries(hostileTexts)) {
        expect([name, learnt(text)]).toEqual([name, expected]);
      }
    },
  );

  test('gives a continuation the same tags, whatever tools say', () => {
    const encoded = (output: string) =>
      told(output).map((text) => marksIn(encodeTrajectory(tokenizer, text)));
    const expected = encoded(HARMLESS);
    for (const [name, text] of Object.entries(hostileTexts)) {
      expect([name, encoded(text)]).toEqual([name, expected]);
    }
  });

  test('makes no tag of a question', () => {
    for (const text of Object.values(hostileTexts)) expect(marksIn(prompt(text))).toEqual([]);
  });
});

test('a trajectory is trained only on what the policy wrote', () => {
  const text = trajectories.right!.replace('R', fence(hostileTexts.ChatML!));
  const prompt = () => new Int32Array(0);
  const options = { prompt, tokenizer: tinyWords, results: 'masked' } as const;
  const { tokens, mask } = encodeExample('?', text, options);
  const own = tinyWords.decode([...tokens].filter((_, t) => mask[t] === 1));
  expect(own).toBe(`${withEmptyResults(text).replace(' <result></result>', '')}<|end|>`);
});
