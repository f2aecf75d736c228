/** The demonstrations of the quickstart as conversations in ShareGPT form: the tags are text. */
import { answers, demonstrate, habitDraws } from '../quickstart/world/demonstrations.ts';
import { makeTasks } from '../quickstart/world/tasks.ts';
import { makeWorld } from '../quickstart/world/world.ts';

/** Worlds that neither a run nor the quickstart's base policy has seen. */
const FIRST_WORLD = 2_000_000;
const PER_WORLD = 200;

/** The policy's instructions before every question, in its lessons and in rollouts. */
export const SYSTEM = 'Think. Search and compute to answer.';

/** One row of a file for LLaMA-Factory. */
export interface Lesson {
  readonly system: string;
  readonly conversations: readonly { readonly from: 'human' | 'gpt'; readonly value: string }[];
}

export function* lessons(count: number): Generator<Lesson, void> {
  for (let made = 0, seed = FIRST_WORLD; made < count; seed++) {
    const world = makeWorld(seed);
    const tasks = makeTasks(world, 'lessons', Math.min(PER_WORLD, count - made));
    for (const [i, task] of tasks.entries()) {
      const pieces = demonstrate(task, world, habitDraws(world, i), answers(world));
      const said = pieces
        .map(({ text }) => text)
        .join('')
        .replace('<|end|>', '');
      const conversations = [
        { from: 'human', value: task.question },
        { from: 'gpt', value: said },
      ] as const;
      yield { system: SYSTEM, conversations };
    }
    made += tasks.length;
  }
}
