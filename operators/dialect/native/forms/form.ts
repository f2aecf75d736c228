/**
 * A form in which policies write calls into their turns: a turn in pieces whose texts are the turn. A call in
 * a thinking block does not count; forms get the text after it.
 */
import type { DialectCall } from '../../dialect.ts';
import type { ToolSpec } from '../toolCalls.ts';

/** A stretch of a turn; a call if it is one. */
export interface Piece {
  readonly text: string;
  readonly call: DialectCall | null;
}

/** What follows the policy's thinking, in pieces. */
export type CallForm = (text: string, tools: readonly ToolSpec[]) => readonly Piece[];
