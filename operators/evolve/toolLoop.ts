/**
 * One trajectory as text: complete a piece, run the call at its end, append the result, and repeat until an
 * answer (ET-Agent §4.3). Works with any model that completes text; the rollout operator does the same on
 * tokens.
 */

import { calledTool } from '../dialect/calls.ts';
import { countPairs } from '../dialect/tags.ts';
import { stripEnd } from '../text/characters.ts';

export interface ToolLoopOptions {
  /** The next piece, given all text so far; '' ends the trajectory. */
  readonly piece: (text: string) => Promise<string>;
  /** The result block of the call of `tool` that a piece makes; `text` ends in that piece. */
  readonly result: (tool: string, piece: string, text: string) => Promise<string>;
  /** Limit of calls per tool. A piece that calls two tools calls the one named first here. */
  readonly quotas: Readonly<Record<string, number>>;
  /** A trajectory to continue; its finished calls count. */
  readonly start?: string;
  /** Limit of pieces; ends a model that never answers. */
  readonly piecesMax?: number;
  /**
   * `repaired` (default): every piece is looked at, and a call beyond its quota ends the trajectory.
   * `reference`: after a piece that neither answers nor makes a call that it may make, one more is taken and
   * never looked at, so that a call in it does not run.
   */
  readonly mode?: 'repaired' | 'reference';
}

export interface ToolLoopResult {
  readonly text: string;
  /** What was appended, in order. */
  readonly logs: readonly string[];
  /** Calls that ran, those of `start` included. */
  readonly calls: Readonly<Record<string, number>>;
}

const PIECES_MAX = 100;

export async function toolLoop(options: ToolLoopOptions): Promise<ToolLoopResult> {
  const { quotas, start = '', piecesMax = PIECES_MAX } = options;
  const reference = options.mode === 'reference';
  const tools = Object.keys(quotas);
  const calls = Object.fromEntries(tools.map((tool) => [tool, countPairs(start, tool)]));
  const logs: string[] = [];
  const text = () => start + logs.join('');
  const next = async () => {
    const piece = await options.piece(text());
    logs.push(piece);
    return piece;
  };
  for (let pieces = 0; pieces < piecesMax; pieces++) {
    const piece = await next();
    if (piece === '') break;
    const tool = calledTool(piece, tools);
    if (tool !== null && calls[tool]! < quotas[tool]!) {
      // A call opened in `start` ends in the first piece.
      const whole = pieces === 0 && !reference ? openedCall(start, tools) + piece : piece;
      logs.push(await options.result(tool, whole, text()));
      calls[tool]!++;
    } else if (stripEnd(piece).endsWith('</answer>')) break;
    else if (!reference && tool !== null) break;
    else if (reference && (await next()) === '') break;
  }
  return { text: text(), logs, calls };
}

/** The text of a call that was opened and not closed; '' = none. */
function openedCall(text: string, tools: readonly string[]): string {
  const opened = tools
    .map((tool) => ({ at: text.lastIndexOf(`<${tool}>`), closed: text.lastIndexOf(`</${tool}>`) }))
    .filter(({ at, closed }) => at > closed)
    .map(({ at }) => at);
  return opened.length === 0 ? '' : text.slice(Math.max(...opened));
}
