/**
 * What a job's questions have besides their answers, by question id, known before the first rollout: every
 * process of a run (including one that only calls tools) finds a question's own functions here.
 */
import { MillraceError } from '../../base/index.ts';
import { functionFault } from '../../operators/deepAgent/tools/index.ts';
import { namesEndless } from '../../sources/endless/index.ts';
import { readDataset } from '../../sources/index.ts';
import type { Task } from '../../topics/index.ts';

/** A file of questions, and the benchmark in it if its name does not say so. */
export interface QuestionFile {
  readonly path: string;
  readonly name?: string;
}

/**
 * Reads the files through; endless ones, and '', have no tasks. The job reports unusable rows and writes
 * images. Fails with `QUESTIONS_FILE`.
 */
export async function questionTasks(
  files: readonly QuestionFile[],
): Promise<ReadonlyMap<string, Task>> {
  const tasks = new Map<string, Task>();
  for (const { path, ...named } of files) {
    if (path === '' || namesEndless(path)) continue;
    for await (const item of readDataset(path, { ...named, images: null })) {
      if (!('value' in item) || item.value.task === undefined) continue;
      const { id, task } = item.value;
      const known = tasks.get(id);
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(task)) {
        throw wrong(path, id, 'is in another file with a different task: give it another id');
      }
      tasks.set(id, task);
    }
  }
  return tasks;
}

/**
 * Fails with `QUESTIONS_FILE` if a question lists something that is not a function, or is missing from the
 * library.
 */
export function checkFunctions(
  tasks: ReadonlyMap<string, Task>,
  library: ReadonlyMap<string, unknown>,
): void {
  for (const [id, task] of tasks) {
    const fault = functionFault({ task }, (name) => library.has(name));
    if (fault !== null)
      throw wrong('questions', id, `${fault} (field task.functions; library=FILE)`);
  }
}

function wrong(file: string, id: string, why: string): MillraceError {
  return new MillraceError('QUESTIONS_FILE', `${file}: question ${id} ${why}`, {
    context: { file, id },
  });
}
