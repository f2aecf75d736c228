/**
 * The self-evolving trajectory flywheel of one question (ET-Agent §4.5): first trajectories, then rounds in
 * which the best one not used yet becomes a parent: a correct parent is enhanced, a wrong one reflected upon,
 * and all children join the pool.
 */
import { MillraceError, messageOf } from '../../base/index.ts';
import type { Question } from '../../topics/index.ts';
import { extractAnswer } from '../dialect/answer.ts';
import { withEmptyResults } from '../dialect/results.ts';
import { rolloutF1 } from '../text/overlap.ts';
import type { EvolveAction } from './action.ts';
import { actionContext, type FlywheelOptions, locator, rollOut, type Turn } from './context.ts';
import { withRetry } from './models.ts';
import { saysCorrectPlainly } from './replies.ts';
import { selectParents } from './select.ts';

/** A trajectory of a question's pool. */
export interface EvolvedTrajectory {
  readonly text: string;
  readonly prediction: string;
  readonly correct: boolean;
  /** 0 = a first trajectory. */
  readonly round: number;
  /** Index of its parent in the pool; null for a first one. */
  readonly parent: number | null;
  readonly action: string;
  /** Policy version in use when it was begun. */
  readonly version: number;
}

/** How a parent's turn went. */
export interface TurnReport {
  readonly round: number;
  readonly parent: number;
  readonly branch: EvolveAction['on'];
  /** Actions without a result; `why` is '' unless they failed. */
  readonly dropped: readonly { readonly action: string; readonly why: string }[];
  /** The result of the search for the first faulty step; absent if no action asked. */
  readonly faultyStep?: number | null;
}

/** Makes the pool of a question: the flywheel, or another method's way (coldStart/pool.ts). */
export type Grow = (question: Question, options: FlywheelOptions) => Promise<FlywheelRun>;

/** The result of growing a pool. */
export interface FlywheelRun {
  readonly pool: readonly EvolvedTrajectory[];
  readonly turns: readonly TurnReport[];
  /** What ended it early, with the pool as it was; null if nothing did. */
  readonly failure: string | null;
}

/** A first trajectory, or what an action made of its parent. */
type NewTrajectory = Omit<EvolvedTrajectory, 'prediction' | 'correct'>;
interface Judged extends EvolvedTrajectory {
  readonly score: number;
}

/** An answer to a question of knowledge counts as correct above this F1. */
const CORRECT_ABOVE = 0.8;
const JUDGE_TRIES = 4;

/**
 * Evolves the pool of one question. Rejects if the signal aborts (the run is stopping), and with a model's
 * `MillraceError` if the model can answer no request. Any other failure is reported in the run, and rejects
 * in `reference` mode.
 */
export async function flywheel(question: Question, options: FlywheelOptions): Promise<FlywheelRun> {
  const pool: Judged[] = [];
  const turns: TurnReport[] = [];
  let failure: string | null = null;
  try {
    await evolvePool(question, options, pool, turns);
  } catch (error) {
    if (options.mode === 'reference') throw error;
    failure = reasonOf(error, options);
  }
  return { pool: pool.map(({ score: _, ...trajectory }) => trajectory), turns, failure };
}

async function evolvePool(
  question: Question,
  options: FlywheelOptions,
  pool: Judged[],
  turns: TurnReport[],
): Promise<void> {
  const { rounds, initial = 1, parents = 1, version = () => 0 } = options;
  const used = new Set<number>();
  const add = async (made: readonly NewTrajectory[]) =>
    void pool.push(
      ...(await together(made.map((one, i) => judged(question, one, pool.length + i, options)))),
    );
  const first = { round: 0, parent: null, action: 'initial', version: version() };
  const texts = Array.from({ length: initial }, (_, i) =>
    rollOut({ label: label(0, i), question, options }),
  );
  await add((await together(texts)).map((text) => ({ ...first, text })));
  for (let round = 1; round <= rounds; round++) {
    const chosen = selectParents(pool, used, parents, Object.keys(options.quotas));
    const all = await together(
      chosen.map((parent, i) => {
        used.add(parent);
        return takeTurn(
          { label: label(round, i), question, options },
          round,
          parent,
          pool[parent]!,
        );
      }),
    );
    turns.push(...all.map(({ report }) => report));
    const children = all.flatMap(({ made }) => made);
    if (children.length === 0) return;
    await add(children);
  }
}

/** Names the turns of a round: `1`, then `1.1`, `1.2`, … */
export function label(round: number, place: number): string {
  return place === 0 ? String(round) : `${round}.${place}`;
}

/** Runs every action that suits the parent at once; results in the order of the actions. */
async function takeTurn(turn: Turn, round: number, parent: number, { text, correct }: Judged) {
  const { options } = turn;
  const branch = correct ? 'correct' : 'incorrect';
  const version = options.version?.() ?? 0;
  const find = locator(turn, text);
  let faultyStep: number | null | undefined;
  const locate = async () => (faultyStep = await find());
  const actions = options.actions.filter(({ on }) => on === branch);
  const outcomes = await together(
    actions.map((action) => attempt(action, actionContext(turn, action, text, locate), options)),
  );
  const made = outcomes.flatMap(({ action, text: child }): NewTrajectory[] =>
    child === '' ? [] : [{ text: child, round, parent, action, version }],
  );
  const dropped = outcomes.flatMap(({ action, text: child, why }) =>
    child === '' ? [{ action, why }] : [],
  );
  const report: TurnReport = {
    round,
    parent,
    branch,
    dropped,
    ...(faultyStep === undefined ? {} : { faultyStep }),
  };
  return { made, report };
}

/** What an action made: '' if nothing, with the reason if it failed. */
async function attempt(
  { name, apply }: EvolveAction,
  context: Parameters<EvolveAction['apply']>[0],
  options: FlywheelOptions,
): Promise<{ readonly action: string; readonly text: string; readonly why: string }> {
  try {
    return { action: name, text: (await apply(context)) ?? '', why: '' };
  } catch (error) {
    if (options.mode === 'reference') throw error;
    return { action: name, text: '', why: reasonOf(error, options) };
  }
}

/** The error as a reason; rethrown if every other question would fail too. */
export function reasonOf(error: unknown, { signal }: Pick<FlywheelOptions, 'signal'>): string {
  if (signal.aborted || error instanceof MillraceError) throw error;
  return messageOf(error);
}

/** Waits for all of them, however they end; then rethrows the first error. Nothing continues unseen. */
export async function together<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

async function judged(
  question: Question,
  made: NewTrajectory,
  index: number,
  options: FlywheelOptions,
): Promise<Judged> {
  const whole = options.mode === 'reference';
  const prediction = extractAnswer(whole ? made.text : withEmptyResults(made.text), 'rollout')!;
  const score = await scoreOf(question, prediction, index, options);
  const correct = question.ability === 'math' ? score === 1 : score > CORRECT_ABOVE;
  return { ...made, prediction, score, correct };
}

/** 1 or 0 from the judge for mathematics, the best F1 for knowledge. */
async function scoreOf(
  { question, answers, ability }: Question,
  prediction: string,
  index: number,
  options: FlywheelOptions,
): Promise<number> {
  if (ability !== 'math') return rolloutF1(prediction, answers);
  const { complete, prompts, key, signal, mode } = options;
  const name = `judge/${index}`;
  const prompt = prompts.judge({ question, answers: answers.join('\n'), prediction });
  const ask = (attempt: number) =>
    complete(
      {
        role: 'critic',
        name,
        draws: [...key, name, attempt],
        prompt,
        continuation: '',
        stop: [],
      },
      signal,
    );
  if (mode !== 'reference') return saysCorrectPlainly((await withRetry(ask)) ?? '') ? 1 : 0;
  for (let attempt = 0; attempt < JUDGE_TRIES; attempt++) {
    const reply = await ask(attempt);
    if (reply === null) return 0;
    if (saysCorrectPlainly(reply)) return 1;
  }
  return 0;
}
