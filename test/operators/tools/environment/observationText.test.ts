/** An observation as the policy reads it. */
import { expect, test } from '@jest/globals';
import { observationText } from '../../../../operators/tools/environment/observationText.ts';

const tool = (result: unknown, error: unknown = null) => ({ tool_name: 'go', result, error });

test.each<[string, Record<string, unknown>, string[], string, boolean]>([
  [
    'its only text',
    { text: ' You see a door. ', inventory: [], note: '' },
    [],
    'You see a door.',
    false,
  ],
  [
    'all of it, if there is more',
    { text: 'x', score: 3, empty: {} },
    [],
    '{"text":"x","score":3}',
    false,
  ],
  ['the field that is wanted', { text: 'x', score: 3 }, ['text'], 'x', false],
  [
    'the fields that are wanted',
    { text: 'x', score: 3, more: 1 },
    ['score', 'text'],
    'score: 3\ntext: x',
    false,
  ],
  ['nothing', {}, [], '', false],
  [
    'what a tool says',
    tool({ content: [{ type: 'text', text: 'a' }, { type: 'image' }] }),
    [],
    'a\n[not a text]',
    false,
  ],
  ['a plain result of a tool', tool('a'), [], 'a', false],
  ['a result of a tool that is data', tool({ n: 1 }), [], '{"n":1}', false],
  ['a failure within a tool', tool({ content: [{ text: 'no' }], is_error: true }), [], 'no', true],
  [
    'a failure to call a tool',
    tool(null, { error_type: 'invalid_args', message: 'no such way' }),
    [],
    'Error: no such way',
    true,
  ],
])('is %s', (_, observation, show, text, failed) => {
  expect(observationText(observation, { show, charactersMax: 100 })).toEqual({ text, failed });
});
