/** A tool call of one of fifty questions, drawn. */
import type { Draws } from '../../base/draws.ts';
import type { ToolCall } from '../../topics/index.ts';
import { toolCall } from './records.ts';

export const QUESTIONS = 50;

export function drawnCall(random: Draws, index: number): ToolCall {
  const questionId = `q${random.integer(2 * index, QUESTIONS)}`;
  const rolloutId = `${questionId}/explore-0/${random.integer(2 * index + 1, 4)}`;
  return toolCall({ questionId, rolloutId, turn: index });
}
