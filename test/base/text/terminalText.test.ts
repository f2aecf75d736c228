import { expect, test } from '@jest/globals';
import { table } from '../../../base/terminal/table.ts';
import { terminalText } from '../../../base/text/terminalText.ts';

test('text for a terminal has colours and line ends, and no other control characters', () => {
  expect(terminalText('\u001b[1;31mred\u001b[0m\n\tnext')).toBe('\u001b[1;31mred\u001b[0m\n\tnext');
  expect(terminalText('\u001b[2J\u001b]8;;x\u0007\r\u009b1A\u202e\u2066')).toBe(
    '\\u001b[2J\\u001b]8;;x\\u0007\\u000d\\u009b1A\\u202e\\u2066',
  );
});

test('a cell of a table has no control characters', () => {
  expect(table([['name'], ['a\u001b[1A\u202eb']], [])).toBe('name\na\\u001b[1A\\u202eb');
});
