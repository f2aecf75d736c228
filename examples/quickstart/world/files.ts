/** The world as ordinary files: the corpus as JSON Lines, the questions as CSV. */
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeToString } from 'fast-csv';
import { makeTasks, type Task } from './tasks.ts';
import { makeWorld } from './world.ts';

export interface WorldFiles {
  readonly corpus: string;
  readonly train: string;
  readonly heldOut: string;
}

/** Training questions of a world; a round wraps around when it wants more. */
export const TRAIN = 450;
export const HELD_OUT = 150;

/** What the training questions of a world are and take; the critic's knowledge. */
export function trainingTasks(seed: number): readonly Task[] {
  return makeTasks(makeWorld(seed), 'train', TRAIN);
}

function rows(tasks: readonly Task[]): readonly Record<string, string>[] {
  return tasks.map(({ id, kind, question, answer }) => ({
    id,
    source: `quickstart-${kind}`,
    question,
    answers: JSON.stringify([answer]),
    ability: kind === 'none' || kind === 'python' || kind === 'both' ? 'math' : 'qa',
  }));
}

async function write(path: string, text: string): Promise<void> {
  await writeFile(`${path}.tmp`, text);
  await rename(`${path}.tmp`, path);
}

/**
 * Writes the world of `seed` into `folder` (once; a resumed run finds them there) and gives the paths. No
 * held-out question is among the training questions.
 */
export async function writeWorld(folder: string, seed: number): Promise<WorldFiles> {
  const paths = {
    corpus: join(folder, 'corpus.jsonl'),
    train: join(folder, 'train.csv'),
    heldOut: join(folder, 'heldout.csv'),
  };
  if (existsSync(paths.heldOut)) return paths;
  await mkdir(folder, { recursive: true });
  const world = makeWorld(seed);
  const train = makeTasks(world, 'train', TRAIN);
  const heldOut = makeTasks(
    world,
    'heldout',
    HELD_OUT,
    new Set(train.map((task) => task.question)),
  );
  await write(
    paths.corpus,
    world.articles.map((article) => `${JSON.stringify(article)}\n`).join(''),
  );
  await write(paths.train, `${await writeToString([...rows(train)], { headers: true })}\n`);
  await write(paths.heldOut, `${await writeToString([...rows(heldOut)], { headers: true })}\n`);
  return paths;
}
