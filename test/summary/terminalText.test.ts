import { expect, test } from '@jest/globals';
import { table } from '../../summary/text/table.ts';
import { terminalText } from '../../summary/text/terminalText.ts';

test('a terminal is given colours and ends of lines, and nothing else to obey', () => {
  expect(terminalText('\u001b[1;31mred\u001b[0m\n\tnext')).toBe('\u001b[1;31mred\u001b[0m\n\tnext');
  expect(terminalText('\u001b[2J\u001b]8;;x\u0007\r\u009b1A\u202e\u2066')).toBe(
    '\\u001b[2J\\u001b]8;;x\\u0007\\u000d\\u009b1A\\u202e\\u2066',
  );
});

test('nor does a cell of a table', () => {
  expect(table([['name'], ['a\u001b[1A\u202eb']], [])).toBe('name\na\\u001b[1A\\u202eb');
});
