/**
 * Whether a task that has no reference was solved (ToolBench, DeepAgent §4.3): four votes of the judge, of
 * which the majority counts, and a keyed draw where they are even, as the release tosses a coin.
 *
 * A vote has up to two stages: the judge sees task and answer, and if it is unsure the work as well. As
 * released (`unsolvablePasses`), an unsolved task passes if the judge thinks that the functions at hand
 * cannot solve it; repaired, it does not.
 */
import { type DrawKey, draws } from '../../../base/index.ts';
import type { Question } from '../../../topics/index.ts';
import { nextBlock } from '../../dialect/tags.ts';
import { solvablePrompt, solvedPrompt } from './juryPrompts.ts';

/** Asks the judge; null = it gave no reply. */
export type AskForVote = (key: readonly DrawKey[], prompt: string) => Promise<string | null>;

export interface SolvedOptions {
  readonly seed: number;
  readonly votes: number;
  readonly unsolvablePasses: boolean;
}

/** What is judged: the final answer, and the whole work. */
export interface Solved {
  readonly prediction: string;
  readonly output: string;
}

/** Null = no vote was cast. */
export async function votedSolved(
  question: Question,
  solved: Solved,
  ask: AskForVote,
  options: SolvedOptions,
): Promise<boolean | null> {
  const { seed, votes } = options;
  const all = await Promise.all(
    Array.from({ length: votes }, (_, vote) => {
      const asked: AskForVote = (key, prompt) => ask(['judge', vote, ...key], prompt);
      return oneVote(question, solved, asked, options);
    }),
  );
  const given = all.filter((vote) => vote !== null);
  if (given.length === 0) return null;
  const passes = given.filter(Boolean).length;
  if (2 * passes !== given.length) return 2 * passes > given.length;
  return draws(seed, question.id, 'judge', 'tie').uniform(0) < 0.5;
}

async function oneVote(
  { question, task }: Question,
  { prediction, output }: Solved,
  ask: AskForVote,
  { unsolvablePasses }: SolvedOptions,
): Promise<boolean | null> {
  const first = await ask(['answer'], solvedPrompt({ question, prediction }));
  const unsure = first !== null && verdictIn(first) === 'unsure';
  const reply = unsure
    ? await ask(['work'], solvedPrompt({ question, prediction, output }))
    : first;
  if (reply === null) return null;
  // Whatever even the work leaves open is not solved.
  if (verdictIn(reply) === 'solved') return true;
  if (!unsolvablePasses) return false;
  const tools = task?.functions ?? [];
  const solvable = await ask(['task'], solvablePrompt({ question, tools }));
  return solvable !== null && verdictIn(solvable) === 'unsolvable';
}

/** A reply's verdict, within its tags if it has them; words that contain others come first. */
export function verdictIn(
  reply: string,
): 'unsolved' | 'unsolvable' | 'unsure' | 'solved' | 'solvable' {
  const lower = reply.toLowerCase();
  const said = nextBlock(lower, 'judgment')?.inner ?? lower;
  for (const word of [
    'unsolvable',
    'unsolved',
    'unsure',
    'not solved',
    'solvable',
    'solved',
  ] as const)
    if (said.includes(word)) return word === 'not solved' ? 'unsolved' : word;
  return 'unsure';
}
