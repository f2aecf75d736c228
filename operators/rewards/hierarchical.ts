/**
 * Tool-Star's hierarchical reward (paper; §3.5 of the method's notes): form before correctness, correctness
 * before tools.
 *
 *     -1 if the form is wrong; 0 for a wrong answer in good form; else its correctness,
 *     and `bonus` more (0.1) where several tools were used.
 *
 * The paper has two tools and requires both; of more it takes any two.
 */
import { countToolsUsed } from '../dialect/tags.ts';
import { correctness, type KnowledgeScore } from './accuracy.ts';
import { faultOf, ownTexts, type PureReward } from './reward.ts';

/** The bonus for several tools, and the score of a knowledge question. */
export interface HierarchicalOptions {
  /** For using at least two different tools (default 0.1). */
  readonly bonus?: number;
  /** How to score an answer to a question of knowledge (default f1, as in the method). */
  readonly knowledge?: KnowledgeScore;
}

/** Parts: `raw`, `tools` (the bonus or 0), `format` (0 or -1). */
export function hierarchical(options: HierarchicalOptions = {}): PureReward {
  const { bonus = 0.1, knowledge = 'f1' } = options;
  return (group) =>
    ownTexts(group).map((text) => {
      const { question, tools } = group;
      const { raw } = correctness(question, text, knowledge);
      if (faultOf(group, text) !== null) {
        return { score: -1, parts: { raw, tools: 0, format: -1 } };
      }
      const extra = raw > 0 && countToolsUsed(text, tools) >= 2 ? bonus : 0;
      return { score: raw + extra, parts: { raw, tools: extra, format: 0 } };
    });
}
