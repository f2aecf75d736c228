/**
 * Tool-Star's hierarchical reward (paper; §3.5 of the method's notes): form before correctness, correctness before tools.
 *
 *     -1 where the form is wrong; 0 for a wrong answer in good form; else its correctness,
 *     and `bonus` more (0.1) where search and Python were both used.
 */
import { isWellFormed } from '../text/format.ts';
import { countPairs } from '../text/tags.ts';
import { correctness, type KnowledgeScore } from './accuracy.ts';
import type { PureReward } from './reward.ts';

export interface HierarchicalOptions {
  /** For using every one of the tools (default 0.1). */
  readonly bonus?: number;
  /** Tags of those tools (default search and python). */
  readonly tools?: readonly string[];
  /** How an answer to a question of knowledge is scored (default f1, as in the method). */
  readonly knowledge?: KnowledgeScore;
}

/** Parts: `raw`, `tools` (the bonus or 0), `format` (0 or -1). */
export function hierarchical(options: HierarchicalOptions = {}): PureReward {
  const { bonus = 0.1, tools = ['search', 'python'], knowledge = 'f1' } = options;
  return ({ question, texts }) =>
    texts.map((text) => {
      const { raw } = correctness(question, text, knowledge);
      if (!isWellFormed(text, 'reward')) return { score: -1, parts: { raw, tools: 0, format: -1 } };
      const all = tools.every((tool) => countPairs(text, tool) > 0);
      const extra = raw > 0 && all ? bonus : 0;
      return { score: raw + extra, parts: { raw, tools: extra, format: 0 } };
    });
}
