/**
 * Demonstrations of the hard world with bad habits: what its base policy is fine-tuned on.
 *
 * The habits: an answer from nothing, a search for the bare name (half the time a dead end), the same search
 * again where it will find the same, a fact of the wrong page taken for the answer, giving up half-way or
 * when a tool fails, repeated calls that had already given everything, a forgotten box. The good way is in
 * the mixture.
 */
import { type Draws, draws } from 'millrace';
import { resultBlock } from 'millrace/operators';
import { again, answer, call, type Piece, UNBOXED } from '../demonstrations.ts';
import type { Step } from '../tasks.ts';
import type { HardWorld } from './facts.ts';
import { FAILURES, NOISE } from './noise.ts';
import type { HardKind, HardTask } from './questions.ts';

/** Share of demonstrations that answer before any step (for `none`, by heart, which is right). */
export const GUESS: Readonly<Record<HardKind, number>> = {
  none: 0.35,
  sum: 0.5,
  look: 0.25,
  two: 0.25,
  three: 0.25,
  gap: 0.25,
  chain: 0.25,
};
/** Share of searches for the bare name. */
export const BARE = 0.55;
/**
 * After a page without the fact: searches differently, or the same again, or else takes something there for
 * the answer.
 */
export const AFTER_DEAD_END = { other: 0.3, same: 0.2 };
/** After a tool that failed: the same call again, or else gives up. */
export const AFTER_FAILURE = 0.6;
/** After a step that found its fact: the same call again; goes no further. */
export const REPEAT = 0.3;
export const GIVE_UP = 0.25;
/** Most calls of a step, and of a demonstration. */
const STEP_CALLS_MAX = 3;
export const CALLS_MAX = 6;

const GUESSING = 'I think I know it.';

/** A search for the name alone: a query without its last word. */
function bare(step: Step): Step {
  return step.tool === 'search' ? { ...step, query: step.query.replace(/ \S+$/, '') } : step;
}

function holds(text: string, fact: string): boolean {
  return ` ${text.replace(/[^\p{L}\d]+/gu, ' ')} `.includes(` ${fact} `);
}

/**
 * What could be taken for the answer: a name of its kind on the page if there is one, else any name; or
 * digits.
 */
function wrong(task: HardTask, world: HardWorld, page: string, stream: Draws): string {
  if (/^-?\d+$/.test(task.answer)) {
    const year = task.answer.length === 4 ? /\b\d{4}\b/.exec(page)?.[0] : undefined;
    const digits = [...task.answer].map((c, i) =>
      c === '-' ? c : String(i === 0 ? 1 + stream.integer(i, 9) : stream.integer(i, 10)),
    );
    return year ?? digits.join('');
  }
  const names = (of: readonly { readonly name: string }[]) => of.map(({ name }) => name);
  const { people, towns, firms } = world;
  const rivers = [...new Set(towns.map(({ river }) => river))];
  const pools = [names(people), names(towns), names(firms), rivers];
  const pool = pools.find((of) => of.includes(task.answer))!;
  return (
    pool.find((name) => name !== task.answer && holds(page, name)) ??
    pool[stream.integer(0, pool.length)]!
  );
}

/** One demonstration of `task`, its habits and its tools' failures drawn from `stream`. */
export function demonstrateHard(task: HardTask, world: HardWorld, stream: Draws): Piece[] {
  const pieces: Piece[] = [];
  const boxed = stream.uniform(0) >= UNBOXED;
  const end = (text: string, thought: string): Piece[] => [
    ...pieces,
    { text: answer(text, thought, boxed), by: 'policy' },
  ];
  const guess = (page = ''): Piece[] =>
    end(wrong(task, world, page, stream.under('wrong')), GUESSING);
  const known = (): Piece[] =>
    end(
      task.answer,
      task.kind === 'none' && pieces.length === 0
        ? `It is ${task.answer}.`
        : `So it is ${task.answer}.`,
    );

  if (stream.uniform(1) < GUESS[task.kind]) return task.kind === 'none' ? known() : guess();
  let calls = 0;
  for (const [index, step] of task.plan.entries()) {
    const draw = stream.under('step', index);
    let asked = draw.uniform(0) < BARE ? bare(step) : step;
    let first = true;
    let answered = false;
    for (let turn = 0; turn < STEP_CALLS_MAX; turn++) {
      if (calls++ === CALLS_MAX) return guess();
      const chance = (what: number): number => draw.uniform(10 + turn * 10 + what);
      const page = chance(0) < NOISE ? FAILURES[step.tool]!.output : found(asked, world);
      pieces.push({ text: first ? call(asked) : again(asked), by: 'policy' });
      pieces.push({ text: resultBlock(page), by: 'tool' });
      first = false;
      if (page === FAILURES[step.tool]!.output) {
        if (answered || chance(1) < AFTER_FAILURE) continue;
        return guess();
      }
      answered = holds(page, step.tool === 'search' ? step.finds : step.value.replace('-', ''));
      if (answered) {
        if (chance(2) < REPEAT) continue;
        break;
      }
      const next = chance(3);
      if (next < AFTER_DEAD_END.other) {
        asked = step;
        first = true;
      } else if (next >= AFTER_DEAD_END.other + AFTER_DEAD_END.same) return guess(page);
    }
    if (!answered) return guess();
    if (index + 1 < task.plan.length && draw.uniform(1) < GIVE_UP) return guess();
  }
  return known();
}

/** The tools' answers when they do not fail. */
function found(step: Step, world: HardWorld): string {
  if (step.tool === 'python') return step.value;
  const page = world.pages.get(step.query);
  if (page === undefined) throw new Error(`no page is found by ${step.query}`);
  return `Page 1: ${page}`;
}

/** The stream of draws of demonstration `index` in `world`. */
export function hardHabitDraws(world: HardWorld, index: number): Draws {
  return draws('quickstart-hard-habits', world.seed, index);
}

/** Words of this world that the small one does not have. */
export const MORE_WORDS: readonly string[] =
  'The Who head live lives since Since many years after No search results found Error no answer'.split(
    ' ',
  );
