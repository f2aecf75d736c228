/**
 * The self-evolving trajectory flywheel of one question (ET-Agent §4.5): a first trajectory, then rounds in which the
 * best one not used yet becomes a parent: a correct parent is enhanced, a wrong one reflected upon, and all kids
 * join the pool.
 */
import type { Question } from '../../streams/records.ts';
import { extractAnswer } from '../text/answer.ts';
import { rolloutF1 } from '../text/overlap.ts';
import { type EvolveOptions, type Round, rollOut } from './context.ts';
import { enhance, type Kid } from './enhance.ts';
import { completeWithRetry } from './models.ts';
import { judgePrompt } from './prompts.ts';
import { reflect } from './reflect.ts';
import { saysCorrectPlainly } from './replies.ts';
import { selectParent } from './select.ts';

export interface EvolvedTrajectory {
  readonly text: string;
  readonly prediction: string;
  readonly correct: boolean;
  /** 0 = the first trajectory. */
  readonly round: number;
  /** Index of its parent in the pool; null for the first. */
  readonly parent: number | null;
  readonly action: string;
}

/** How a round went. */
export interface RoundReport {
  readonly round: number;
  readonly parent: number;
  readonly branch: 'correct' | 'incorrect';
  /** Actions that came to nothing. */
  readonly dropped: readonly string[];
}

export interface FlywheelRun {
  readonly pool: readonly EvolvedTrajectory[];
  readonly rounds: readonly RoundReport[];
}

/** An answer to a question of knowledge counts as correct above this F1. */
const CORRECT_ABOVE = 0.8;
const JUDGE_TRIES = 4;

export async function flywheel(question: Question, options: EvolveOptions): Promise<FlywheelRun> {
  const pool: (EvolvedTrajectory & { readonly score: number })[] = [];
  const rounds: RoundReport[] = [];
  const used = new Set([0]);
  const add = async (
    text: string,
    from: Pick<EvolvedTrajectory, 'round' | 'parent' | 'action'>,
  ) => {
    const prediction = extractAnswer(text, 'rollout')!;
    const score = await judged(question, prediction, pool.length, options);
    const correct = question.ability === 'math' ? score === 1 : score > CORRECT_ABOVE;
    pool.push({ text, prediction, score, correct, ...from });
  };
  const first: Round = { number: 0, question, options };
  await add(await rollOut(first, 'initial'), { round: 0, parent: null, action: 'initial' });
  for (let number = 1; number <= options.rounds; number++) {
    const parent = number === 1 ? 0 : selectParent(pool, used);
    used.add(parent);
    const round: Round = { number, question, options };
    const { text, correct } = pool[parent]!;
    const kids = await (correct ? enhance(round, text) : reflect(round, text));
    rounds.push({
      round: number,
      parent,
      branch: correct ? 'correct' : 'incorrect',
      dropped: kids.filter((kid) => !isKept(kid)).map((kid) => kid.action),
    });
    const kept = kids.filter(isKept);
    if (kept.length === 0) break;
    for (const kid of kept) await add(kid.text, { round: number, parent, action: kid.action });
  }
  return { pool: pool.map(({ score: _, ...trajectory }) => trajectory), rounds };
}

function isKept(kid: Kid): kid is Kid & { readonly text: string } {
  return kid.text !== null && kid.text !== '';
}

/** 1 or 0 from the judge for mathematics, the best F1 for knowledge. */
async function judged(
  { question, answers, ability }: Question,
  prediction: string,
  index: number,
  options: EvolveOptions,
): Promise<number> {
  if (ability !== 'math') return rolloutF1(prediction, answers);
  const request = {
    role: 'critic',
    name: `judge/${index}`,
    prompt: judgePrompt(question, answers, prediction),
    continuation: '',
  } as const;
  if (options.mode !== 'reference') {
    return saysCorrectPlainly((await completeWithRetry(options.complete, request)) ?? '') ? 1 : 0;
  }
  for (let attempt = 0; attempt < JUDGE_TRIES; attempt++) {
    const reply = await options.complete(request);
    if (reply === null) return 0;
    if (saysCorrectPlainly(reply)) return 1;
  }
  return 0;
}
