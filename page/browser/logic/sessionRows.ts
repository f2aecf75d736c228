/**
 * The rows of a session's tree, in the order in which its calls were made: calls of MCP tools (◆) are below
 * the model call that they came after.
 */
import { counted } from '../../../base/text/index.ts';
import type { SessionView } from '../../wire/index.ts';

const tones = { first: 'muted', continued: 'good', merged: 'warn', separate: 'bad' };

export interface SessionRow {
  /** The number of a model call; null of a tool. */
  readonly call: number | null;
  /** The model call that it goes on from, or came after. */
  readonly parent: number;
  readonly lane: number;
  readonly glyph: string;
  readonly tone: string;
  readonly name: string;
  readonly title: string;
  readonly ms: number;
  /** Of a tool: its record. */
  readonly ref: string | null;
  readonly turn: number | null;
}

export function sessionRows({ calls, tools }: SessionView): readonly SessionRow[] {
  const toolsAfter = (after: number, lane: number): SessionRow[] =>
    tools
      .filter((tool) => tool.after === after)
      .map(({ ref, tool, ok, fromRecord, ms, turn }) => ({
        ...{ call: null, parent: after, lane, ref, ms, turn, name: tool, glyph: '◆' },
        tone: ok ? 'good' : 'bad',
        title: `${tool}: ${ok ? 'ok' : 'failed'}${fromRecord ? ', from the record' : ''}`,
      }));
  return [
    ...toolsAfter(-1, 0),
    ...calls.flatMap(({ call, parent, lane, join, difference, tokens, ms, turn }) => [
      {
        ...{ call, parent, lane, ms, turn, ref: null, name: join, glyph: '●', tone: tones[join] },
        title: `call ${call + 1}, ${join}: ${counted(tokens, 'token')}${difference && `; ${difference}`}`,
      },
      ...toolsAfter(call, lane),
    ]),
  ];
}
