/**
 * The law of the fence: whatever a policy and its tools write, a response has exactly the blocks that it has
 * with harmless results, and each result holds what its tool said except for broken marks.
 */
import { expect, test } from '@jest/globals';
import { type Draws, draws } from '../../../base/draws.ts';
import { fenceFor } from '../../../operators/dialect/fence.ts';
import { resultBlocks, withEmptyResults } from '../../../operators/dialect/results.ts';
import { cases } from './dialects.ts';

const PIECES = [
  ...['think', 'result', 'answer', 'search', 'python', 'tool_call', 'tool_response'].flatMap(
    (tag) => [`<${tag}>`, `</${tag}>`],
  ),
  ...['<|im_end|>', '<|im_start|>assistant', '<|eot_id|>', '<|end|>', '[INST]', '<', '</', '>'],
  ...[
    '|',
    '<|',
    '|>',
    '{"name": "search"',
    '"',
    '\\',
    '}',
    '\n',
    ' ',
    'a',
    'resu',
    'lt>',
    '/answer>',
  ],
  ...['\\boxed{42}', '42', 'é', '🙂', '＜', '\u200b'],
];

function mixture(lengthMax: number, random: Draws): string {
  const length = random.integer(0, lengthMax + 1);
  return Array.from({ length }, (_, i) => PIECES[random.integer(i + 1, PIECES.length)]!).join('');
}

test.each(Object.keys(cases))('hostile text changes no trajectory in %s', (which) => {
  const { dialect, before, behind, calls } = cases[which]!;
  const { tokenizer, tools } = dialect;
  const fence = fenceFor({ tools, markers: tokenizer.markers ?? [] });
  const told = (own: readonly [string, string], outputs: readonly string[]): string => {
    const result = tokenizer.decode(dialect.results(outputs));
    return dialect.read([
      { author: 'policy', text: own[0] + before, ended: true },
      { author: 'tool', text: result },
      { author: 'policy', text: own[1] + behind, ended: true },
    ]);
  };
  for (let i = 0; i < 400; i++) {
    const key = draws('law', which, i);
    // A turn of Llama 3 is its call alone, and what stands in front of a call in words may be another call.
    const first = which.includes('tags') ? mixture(5, key.under('first')) : '';
    const own = [first, mixture(5, key.under('second'))] as const;
    const outputs = Array.from({ length: calls }, (_, call) => mixture(9, key.under('tool', call)));
    const hostile = told(own, outputs);
    const harmless = told(
      own,
      outputs.map(() => 'nothing'),
    );
    expect([own, outputs, withEmptyResults(hostile)]).toEqual([
      own,
      outputs,
      withEmptyResults(harmless),
    ]);
    const trimmed = (texts: readonly string[]) => texts.map((text) => text.trim());
    expect(trimmed(resultBlocks(hostile))).toEqual(trimmed(outputs.map(fence)));
  }
});
