/**
 * Demonstrations with bad habits, on which the base policy is fine-tuned so that there is behaviour to
 * calibrate.
 *
 * The habits: Python for 2+3, the same search again and again, a calculation checked twice, an answer from
 * nothing where a tool was needed, giving up half-way, a forgotten box. `HABITS` states how often; the good
 * way is always in the mixture, but never its most frequent member.
 */
import { type Draws, draws } from 'millrace';
import { resultBlock } from 'millrace/operators';
import type { Kind, Step, Task } from './tasks.ts';
import type { Article, World } from './world.ts';

/** A piece of a trajectory and whether the policy (or a tool) wrote it. */
export interface Piece {
  readonly text: string;
  readonly by: 'policy' | 'tool';
}

interface Habit {
  /** Share of demonstrations that answer before any step (for `none`, by heart, which is right). */
  readonly guess: number;
  /** Share of the others that stop after the first of two steps and guess. */
  readonly giveUp: number;
  /** Chance, after each call, to make the same call again (at most three in all). */
  readonly repeat: number;
}

export const HABITS: Readonly<Record<Kind, Habit>> = {
  none: { guess: 0.3, giveUp: 0, repeat: 0.45 },
  python: { guess: 0.55, giveUp: 0, repeat: 0.6 },
  search: { guess: 0.2, giveUp: 0, repeat: 0.65 },
  hops: { guess: 0.15, giveUp: 0.5, repeat: 0.6 },
  both: { guess: 0.15, giveUp: 0.5, repeat: 0.6 },
};
/** Share of answers that forget `\boxed{}`. */
export const UNBOXED = 0.06;
const CALLS_MAX = 3;

/** A wrong answer that looks like the right one: another name of its kind, or digits of the same length. */
function wrong(task: Task, world: World, stream: Draws): string {
  if (/^-?\d+$/.test(task.answer)) {
    const length = task.answer.length;
    return [...task.answer]
      .map((c, i) =>
        c === '-'
          ? c
          : String(i === 0 && length > 1 ? 1 + stream.integer(i, 9) : stream.integer(i, 10)),
      )
      .join('');
  }
  const pool = world.firms.some((firm) => firm.name === task.answer)
    ? world.firms.map((firm) => firm.name)
    : world.towns.some((town) => town.name === task.answer)
      ? world.towns.map((town) => town.name)
      : world.towns.map((town) => town.river);
  return pool[stream.integer(0, pool.length)]!;
}

export function call(step: Step): string {
  return step.tool === 'search'
    ? `<think>I look up ${step.query}.</think><search>${step.query}</search>`
    : `<think>I compute it.</think><python>${step.code}</python>`;
}

export function again(step: Step): string {
  const text = step.tool === 'search' ? step.query : step.code;
  return `<think>Let me check again.</think><${step.tool}>${text}</${step.tool}>`;
}

export function answer(text: string, thought: string, boxed: boolean): string {
  return `<think>${thought}</think><answer>${boxed ? `\\boxed{${text}}` : text}</answer><|end|>`;
}

/** One demonstration of `task`, its habits drawn from `stream`. `result` gives each tool's answer. */
export function demonstrate(
  task: Task,
  world: World,
  stream: Draws,
  result: (step: Step) => string,
): Piece[] {
  const habit = HABITS[task.kind];
  const boxed = stream.uniform(0) >= UNBOXED;
  const final = (text: string, thought: string): Piece => ({
    text: answer(text, thought, boxed),
    by: 'policy',
  });
  const invented = (): string => wrong(task, world, stream.under('wrong'));
  if (stream.uniform(1) < habit.guess) {
    return task.kind === 'none'
      ? [final(task.answer, `It is ${task.answer}.`)]
      : [final(invented(), 'I think I know it.')];
  }
  const pieces: Piece[] = [];
  const quits = task.plan.length > 1 && stream.uniform(2) < habit.giveUp;
  const steps = quits ? task.plan.slice(0, 1) : task.plan;
  for (const [index, step] of steps.entries()) {
    pieces.push(
      { text: call(step), by: 'policy' },
      { text: resultBlock(result(step)), by: 'tool' },
    );
    for (let extra = 1; extra < CALLS_MAX; extra++) {
      if (stream.uniform(10 + index * 10 + extra) >= habit.repeat) break;
      pieces.push(
        { text: again(step), by: 'policy' },
        { text: resultBlock(result(step)), by: 'tool' },
      );
    }
  }
  pieces.push(
    quits
      ? final(invented(), 'I think I know it.')
      : final(task.answer, `So it is ${task.answer}.`),
  );
  return pieces;
}

/** The tools' answers to the steps of a plan: the article with the title, or the value. */
export function answers(world: World): (step: Step) => string {
  const byTitle = new Map<string, Article>(
    world.articles.map((article) => [article.title, article]),
  );
  return (step) => {
    if (step.tool === 'python') return step.value;
    const article = byTitle.get(step.query);
    if (article === undefined) throw new Error(`no article about ${step.query}`);
    return `Page 1: ${article.text}`;
  };
}

/** The stream of draws of demonstration `index` in `world`. */
export function habitDraws(world: World, index: number): Draws {
  return draws('quickstart-habits', world.seed, index);
}
