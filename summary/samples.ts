/**
 * Three questions whose trajectories show what training changed: one that became right, one that is right
 * with fewer tool calls, and one that became wrong, if there is any. Deterministic in the records.
 */
import type { Log } from '../streams/index.ts';
import { type Position, type Rollout, type Scored, topics } from '../topics/index.ts';
import { completeRounds, type Reading } from './reading.ts';

/** One trajectory of a question, and its reward. */
export interface SamplePoint {
  readonly rollout: Position;
  readonly correct: boolean;
  readonly toolCalls: number;
  readonly score: number;
}

export interface SampleChoice {
  readonly why: string;
  readonly questionId: string;
  readonly before: SamplePoint;
  readonly after: SamplePoint;
}

const samplesMax = 3;

/** At most three; none before the first evaluation after training. */
export function chooseSamples(reading: Reading): SampleChoice[] {
  const last = completeRounds(reading).at(-1);
  if (last === undefined || last === 0) return [];
  const before = firstOf(reading.evaluations.get(0)?.groups ?? []);
  const after = firstOf(reading.evaluations.get(last)?.groups ?? []);
  const pairs = [...before]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([questionId, point]) => {
      const other = after.get(questionId);
      return other === undefined ? [] : [{ questionId, before: point, after: other }];
    });
  const chosen: SampleChoice[] = [];
  for (const { why, rank } of kinds) {
    const best = pairs
      .filter((pair) => rank(pair) > 0 && !chosen.some((c) => c.questionId === pair.questionId))
      .sort((a, b) => rank(b) - rank(a))[0];
    if (best !== undefined && chosen.length < samplesMax) chosen.push({ why, ...best });
  }
  return chosen;
}

type Pair = Omit<SampleChoice, 'why'>;

const saved = ({ before, after }: Pair): number => before.toolCalls - after.toolCalls;

/** In order of preference; 0 or less = not of this kind, otherwise the higher the better. */
const kinds: readonly { readonly why: string; readonly rank: (pair: Pair) => number }[] = [
  { why: 'became right', rank: (p) => (!p.before.correct && p.after.correct ? 100 + saved(p) : 0) },
  {
    why: 'right with fewer tool calls',
    rank: (p) => (p.before.correct && p.after.correct ? saved(p) : 0),
  },
  { why: 'became wrong', rank: (p) => (p.before.correct && !p.after.correct ? 1 : 0) },
  { why: 'stayed right', rank: (p) => (p.before.correct && p.after.correct ? 1 : 0) },
  { why: 'also became right', rank: (p) => (!p.before.correct && p.after.correct ? 1 : 0) },
  { why: 'stayed wrong', rank: (p) => (!p.before.correct && !p.after.correct ? 1 : 0) },
  { why: 'also stayed wrong', rank: (p) => (!p.before.correct && !p.after.correct ? 1 : 0) },
  { why: 'another example', rank: () => 1 },
];

/** The first rollout of each question. */
function firstOf(groups: readonly Scored[]): Map<string, SamplePoint> {
  return new Map(
    groups.flatMap(({ question, rollouts, rewards, toolCalls }) => {
      const [rollout, reward] = [rollouts[0], rewards[0]];
      if (rollout === undefined || reward === undefined) return [];
      const correct = (reward.parts.raw ?? 0) > 0;
      const point = { rollout, correct, toolCalls: toolCalls[0] ?? 0, score: reward.score };
      return [[question.id, point]];
    }),
  );
}

/** A trajectory with its verdict. */
export interface Trajectory extends SamplePoint {
  readonly text: string;
  readonly finish: Rollout['finish'];
  readonly version: number;
  /** Tags of the tools that were called. */
  readonly tools: readonly string[];
}

/** A question with a trajectory of it before and after training. */
export interface Sample {
  readonly why: string;
  readonly question: Rollout['question'];
  readonly before: Trajectory;
  readonly after: Trajectory;
}

/** Reads only the trajectories that are shown from the log. */
export async function fetchSamples(log: Log, choices: readonly SampleChoice[]): Promise<Sample[]> {
  const positions = choices.flatMap(({ before, after }) => [before.rollout, after.rollout]);
  const rollouts = await log.fetch(topics.rollouts, positions);
  return choices.map(({ why, before, after }, index) => {
    const [first, second] = [rollouts[2 * index]!.value, rollouts[2 * index + 1]!.value];
    return {
      why,
      question: first.question,
      before: trajectory(before, first),
      after: trajectory(after, second),
    };
  });
}

function trajectory(point: SamplePoint, rollout: Rollout): Trajectory {
  const { text, finish, version } = rollout;
  return { ...point, text, finish, version, tools: toolsIn(rollout) };
}

/** Tags of the tools that a rollout called. */
export function toolsIn({ segments }: Pick<Rollout, 'segments'>): string[] {
  return [...new Set(segments.flatMap(({ tool }) => tool?.split(',') ?? []))];
}
