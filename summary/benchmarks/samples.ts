/**
 * Some trajectories of an evaluation: the first wrong and the first right ones of each benchmark, in turn.
 */
import type { Log } from '../../streams/index.ts';
import { type Question, type Rollout, type Scored, topics } from '../../topics/index.ts';
import { toolsIn } from '../samples.ts';

export interface BenchmarkSample {
  readonly question: Question;
  readonly text: string;
  readonly correct: boolean;
  /** The verdict in a word or two. */
  readonly verdict: string;
  readonly toolCalls: number;
  readonly finish: Rollout['finish'];
  /** Tags of the tools that were called. */
  readonly tools: readonly string[];
}

const samplesMax = 8;

/** `groups` in the order of their questions. */
export async function benchmarkSamples(
  log: Log,
  groups: readonly Scored[],
): Promise<BenchmarkSample[]> {
  const chosen = choose(groups);
  const positions = chosen.map(({ rollouts }) => rollouts[0]!);
  const found = await log.fetch(topics.rollouts, positions);
  return chosen.map((group, i) => {
    const rollout = found[i]!.value;
    const { text, finish, question } = rollout;
    const { score } = group.rewards[0]!;
    const verdict =
      score >= 1 ? 'right' : score > 0 ? `partly right (${score.toFixed(2)})` : 'wrong';
    return {
      question,
      text,
      finish,
      verdict,
      correct: score >= 1,
      toolCalls: group.toolCalls[0]!,
      tools: toolsIn(rollout),
    };
  });
}

/** One of each kind in turn, a kind being a benchmark and whether the first response is right. */
function choose(groups: readonly Scored[]): Scored[] {
  const kinds = new Map<string, Scored[]>();
  for (const group of groups) {
    if (group.rollouts.length === 0) continue;
    const kind = `${(group.rewards[0]?.score ?? 0) >= 1} ${group.question.source}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), group]);
  }
  const chosen: Scored[] = [];
  const queues = [...kinds].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, members]) => members);
  for (let turn = 0; chosen.length < samplesMax && queues.some((q) => turn < q.length); turn++) {
    for (const queue of queues) {
      const group = queue[turn];
      if (group !== undefined && chosen.length < samplesMax) chosen.push(group);
    }
  }
  return chosen;
}
