/** The tree of a session with the tools that its agent called. */
import { expect, test } from '@jest/globals';
import { sessionRows } from '../../../page/browser/logic/sessionRows.ts';
import type { SessionCallView, SessionToolView } from '../../../page/wire/index.ts';

const call = (number: number, parent: number, lane: number): SessionCallView => ({
  ...{ call: number, parent, lane, join: parent < 0 ? 'first' : 'continued', difference: '' },
  ...{ tokens: 1200, ms: 12, turn: number },
});
const tool = (
  ref: string,
  after: number,
  over: Partial<SessionToolView> = {},
): SessionToolView => ({
  ...{ ref, after, turn: after < 0 ? null : after, tool: 'files.read', input: '{}', output: 'x' },
  ...{ ok: true, fromRecord: false, ms: 3, ...over },
});

test('tools are below the model call that they came after, in its lane', () => {
  const calls = [call(0, -1, 0), call(1, 0, 0), call(2, 0, 1)];
  const tools = [
    tool('7', -1),
    tool('8', 0, { fromRecord: true }),
    tool('9', 2, { ok: false }),
    tool('10', 2),
  ];
  const rows = sessionRows({ calls, of: 3, tools, ms: 1, modelMs: 1 });
  expect(rows.map((row) => [row.call ?? row.ref, row.parent, row.lane, row.glyph])).toEqual([
    ['7', -1, 0, '◆'],
    [0, -1, 0, '●'],
    ['8', 0, 0, '◆'],
    [1, 0, 0, '●'],
    [2, 0, 1, '●'],
    ['9', 2, 1, '◆'],
    ['10', 2, 1, '◆'],
  ]);
  expect(rows.map(({ title }) => title).slice(1, 6)).toEqual([
    'call 1, first: 1,200 tokens',
    'files.read: ok, from the record',
    'call 2, continued: 1,200 tokens',
    'call 3, continued: 1,200 tokens',
    'files.read: failed',
  ]);
});
