/** The gold of a question (`task.gold`) as ToolPO's reward reads it. */
import type { Question } from '../../../topics/index.ts';
import type { CallGold, GoldCall } from './callCredit.ts';

/** Null = the calls that answer it are unknown. */
export function goldOf({ task }: Pick<Question, 'task'>): CallGold | null {
  const gold = task?.gold ?? null;
  if (gold === null) return null;
  const { kind, items } = gold;
  switch (kind) {
    case 'tools':
      return { kind, tools: items };
    case 'endpoints':
      return { kind, endpoints: items };
    case 'calls':
      return { kind, calls: items.map((item) => JSON.parse(item) as GoldCall) };
    case 'answers':
      return { kind, answers: items };
    case 'patterns':
      return { kind, patterns: items };
    default:
      throw new Error(`unknown gold '${kind satisfies never}'`);
  }
}
