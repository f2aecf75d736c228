/** The world as ordinary files: the corpus as JSON Lines, the questions as CSV. */
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeToString } from 'fast-csv';
import type { Task } from './tasks.ts';
import { type WorldForm, worlds } from './worlds.ts';

export interface WorldFiles {
  readonly corpus: string;
  readonly train: string;
  readonly heldOut: string;
}

/** The answers and steps of a world's training questions, which the critic knows. */
export function trainingTasks(
  seed: number,
  form: WorldForm = worlds.small,
): readonly Task<string>[] {
  return form.make(seed).tasks('train', form.train);
}

/** Kinds of questions that come down to arithmetic; the others are about facts. */
const MATH = new Set(['none', 'python', 'both', 'sum', 'gap', 'chain']);

function rows(tasks: readonly Task<string>[]): readonly Record<string, string>[] {
  return tasks.map(({ id, kind, question, answer }) => ({
    id,
    source: `quickstart-${kind}`,
    question,
    answers: JSON.stringify([answer]),
    ability: MATH.has(kind) ? 'math' : 'qa',
  }));
}

async function write(path: string, text: string): Promise<void> {
  await writeFile(`${path}.tmp`, text);
  await rename(`${path}.tmp`, path);
}

/**
 * Writes the world of `seed` into `folder` (once; a resumed run finds it there) and returns the paths. No
 * held-out question is among the training questions.
 */
export async function writeWorld(
  folder: string,
  seed: number,
  form: WorldForm = worlds.small,
): Promise<WorldFiles> {
  const paths = {
    corpus: join(folder, 'corpus.jsonl'),
    train: join(folder, 'train.csv'),
    heldOut: join(folder, 'heldout.csv'),
  };
  if (existsSync(paths.heldOut)) return paths;
  await mkdir(folder, { recursive: true });
  const world = form.make(seed);
  const train = world.tasks('train', form.train);
  const asked = new Set(train.map((task) => task.question));
  const heldOut = world.tasks('heldout', form.heldOut, asked);
  await write(
    paths.corpus,
    world.articles.map((article) => `${JSON.stringify(article)}\n`).join(''),
  );
  await write(paths.train, `${await writeToString([...rows(train)], { headers: true })}\n`);
  await write(paths.heldOut, `${await writeToString([...rows(heldOut)], { headers: true })}\n`);
  return paths;
}
