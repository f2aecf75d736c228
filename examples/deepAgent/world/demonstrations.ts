/**
 * The episodes that the first policy learns from, bad habits included: it calls without having searched,
 * misnames an argument, repeats a call, folds with nothing to gain, and answers without knowing.
 */
import { type Draws, draws } from 'millrace';
import { foldPrompt, noticeText, pythonJson, type ToolDoc } from 'millrace/operators';
import { answerOf, functionOf, functions, type Item, valueIn } from './functions.ts';
import { memoryOf } from './memory.ts';
import { firstMessage } from './message.ts';
import type { Task } from './tasks.ts';

/** A stretch of a round, and who wrote it. */
export type Piece =
  | { readonly by: 'policy' | 'harness'; readonly text: string }
  | { readonly by: 'search' | 'call'; readonly text: string };

/** A context and what was written in it. */
export interface ShownRound {
  readonly message: string;
  readonly pieces: readonly Piece[];
}

/** How frequent each habit is. */
const HABITS = {
  unsearched: 0.4,
  misnamed: 0.2,
  repeated: 0.12,
  guessed: 0.12,
  folded: 0.3,
  idleFold: 0.06,
};

/** Demonstrates a task; `find` returns the functions for a query, as a search would. */
export async function demonstrate(
  seed: number,
  index: number,
  { items, question }: Task,
  find: (query: string) => Promise<readonly ToolDoc[]>,
): Promise<readonly ShownRound[]> {
  const own = draws('deep-agent-habits', seed, index);
  const rounds: ShownRound[] = [];
  let pieces: Piece[] = [];
  let steps = '';
  let message = firstMessage(question, []).text;
  const say = (by: Piece['by'], text: string): void => {
    pieces.push({ by, text });
  };
  const fold = (): void => {
    say('policy', '<fold_thought>');
    rounds.push({ message, pieces });
    const first = firstMessage(question, []);
    const [episodic, working, tool] = ['episodic', 'working', 'tool'].map((kind) =>
      pythonJson(JSON.parse(memoryOf(kind, steps)), 2),
    ) as [string, string, string];
    message = foldPrompt(first, { episodic, working, tool }, 'repaired');
    pieces = [];
  };
  const boxed = (texts: readonly string[]): string => `\\boxed{${texts.join(' and ')}}`;

  if (own.uniform(0) < HABITS.guessed) {
    say('policy', boxed(items.map((_, i) => String(10 + own.integer(1 + i, 90)))));
    return [{ message, pieces }];
  }
  if (own.uniform(5) < HABITS.idleFold) fold();
  for (const [i, item] of items.entries()) {
    const habit = own.under('item', i);
    if (habit.uniform(0) >= HABITS.unsearched) {
      const query = `${item.property} of a ${item.kind}`;
      say('policy', `<tool_search>${query}</tool_search>`);
      say('search', pythonJson(await find(query), 2));
    }
    steps += call(seed, item, habit, say);
    if (i === 0 && items.length === 2 && own.uniform(6) < HABITS.folded) fold();
  }
  say('policy', boxed(items.map((item) => String(valueIn(seed, item)))));
  return [...rounds, { message, pieces }];
}

/** Calls a function for an item and returns the value in its result. */
function call(
  seed: number,
  item: Item,
  habit: Draws,
  say: (by: Piece['by'], text: string) => void,
): string {
  const name = functionOf(item);
  if (habit.uniform(1) < HABITS.misnamed) {
    say('policy', `<tool_call>${pythonJson({ name, arguments: { name: item.name } })}</tool_call>`);
    say('call', `Error calling tool: ${name} needs the argument "of"`);
  }
  const body = `<tool_call>${pythonJson({ name, arguments: { of: item.name } })}</tool_call>`;
  const result = pythonJson(answerOf(seed, name, item.name));
  say('policy', body);
  say('call', result);
  if (habit.uniform(2) < HABITS.repeated) {
    say('policy', body);
    say('harness', noticeText('repeatedCall'));
  }
  return `${body} <tool_call_result>${result} `;
}

/** How many functions a search returns. */
export const TOP = 2;

/** By name. */
export const functionsByName: ReadonlyMap<string, ToolDoc> = new Map(
  functions.map((doc) => [doc.name, doc]),
);
