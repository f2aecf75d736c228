/**
 * The worlds by name, as in the setting `world`: their questions, articles and failures, and demonstrations
 * of their habits.
 */
import { answers, demonstrate, habitDraws, type Piece } from './demonstrations.ts';
import { demonstrateHard, hardHabitDraws, MORE_WORDS } from './hard/demonstrations.ts';
import { makeHardWorld } from './hard/facts.ts';
import { NOISE } from './hard/noise.ts';
import { makeHardTasks } from './hard/questions.ts';
import { makeTasks, type Task } from './tasks.ts';
import { type Article, makeWorld } from './world.ts';

export const worldNames = ['small', 'hard'] as const;
export type WorldName = (typeof worldNames)[number];

/** A task, and a trajectory that demonstrates it. */
export interface Demonstration {
  readonly task: Task<string>;
  readonly pieces: readonly Piece[];
}

/** The world of one seed. */
export interface MadeWorld {
  readonly articles: readonly Article[];
  /** `count` different questions, none of those in `exclude`; `name` says what for. */
  tasks(name: string, count: number, exclude?: ReadonlySet<string>): readonly Task<string>[];
  /** For tasks of the set `base`, with the habits of a first policy. */
  demonstrations(count: number): readonly Demonstration[];
}

/** A kind of world. */
export interface WorldForm {
  make(seed: number): MadeWorld;
  /** Training questions, and held-out ones; a round that wants more wraps around. */
  readonly train: number;
  readonly heldOut: number;
  /** Share of tool calls that fail. */
  readonly noise: number;
  /** Words that its policy needs besides those of the small world. */
  readonly words: readonly string[];
  /** The folder of its base policy, relative to the quickstart's. */
  readonly base: string;
}

function shown<T extends Task<string>>(
  tasks: readonly T[],
  pieces: (task: T, index: number) => Piece[],
): readonly Demonstration[] {
  return tasks.map((task, index) => ({ task, pieces: pieces(task, index) }));
}

const small: WorldForm = {
  make(seed) {
    const world = makeWorld(seed);
    const result = answers(world);
    return {
      articles: world.articles,
      tasks: (...of) => makeTasks(world, ...of),
      demonstrations: (count) =>
        shown(makeTasks(world, 'base', count), (task, i) =>
          demonstrate(task, world, habitDraws(world, i), result),
        ),
    };
  },
  train: 450,
  heldOut: 150,
  noise: 0,
  words: [],
  base: 'base',
};

const hard: WorldForm = {
  make(seed) {
    const world = makeHardWorld(seed);
    return {
      articles: world.articles,
      tasks: (...of) => makeHardTasks(world, ...of),
      demonstrations: (count) =>
        shown(makeHardTasks(world, 'base', count), (task, i) =>
          demonstrateHard(task, world, hardHabitDraws(world, i)),
        ),
    };
  },
  train: 630,
  heldOut: 210,
  noise: NOISE,
  words: MORE_WORDS,
  base: 'base/hard',
};

export const worlds: Readonly<Record<WorldName, WorldForm>> = { small, hard };
