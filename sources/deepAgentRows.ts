/**
 * Rows of the benchmarks that DeepAgent is evaluated on, as its release has them (DeepAgent §4.1): what each
 * asks, what answers it, and the gold calls by which it is scored.
 */
import { z } from 'zod';
import { functionName, type RawApi, toolDoc } from '../base/functions/index.ts';
import type { Gold, Task } from '../topics/index.ts';
import { FieldFault } from './fieldFault.ts';
import { type ImagesFolder, inlineImage } from './inlineImage.ts';
import { noTask, readTask } from './task.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a row asks. */
export interface BenchmarkQuestion {
  readonly question: string;
  readonly answers: readonly string[];
  readonly task: Task;
}

/** `place` counts the rows from 1. */
export type ReadBenchmark = (fields: Fields, place: number) => BenchmarkQuestion;

const filled = z.string().regex(/\S/, 'is empty');
const parameter = z.looseObject({
  name: z.string(),
  type: z.string().optional(),
  description: z.string().optional(),
});
const api = z.looseObject({
  category_name: z.string().default(''),
  tool_name: z.string(),
  api_name: z.string(),
  api_description: z.string().default(''),
  required_parameters: z.array(parameter).default([]),
  optional_parameters: z.array(parameter).default([]),
});

/** ToolBench: the functions of the question's own list, of which the relevant ones are gold. */
export const toolBench = benchmark(
  z.looseObject({
    query: filled,
    api_list: z.array(api).default([]),
    'relevant APIs': z.array(z.tuple([z.string(), z.string()])).min(1),
  }),
  ({ query, api_list: apis, 'relevant APIs': relevant }) => ({
    question: query,
    answers: [],
    task: {
      ...noTask,
      gold: goldOf(
        'tools',
        'relevant APIs',
        unique(relevant.map(([tool, one]) => functionName(one, tool))),
      ),
      functions: apis.map((one) => JSON.stringify(toolDoc(one as RawApi, 'repaired'))),
    },
  }),
);

/** RestBench (TMDB, Spotify): the endpoints of the solution. */
export const restBench = benchmark(
  z.looseObject({ query: filled, solution: z.array(filled).min(1) }),
  ({ query, solution }) => ({
    question: query,
    answers: [],
    task: {
      ...noTask,
      gold: goldOf('endpoints', 'solution', unique(solution.map((one) => one.trim()))),
    },
  }),
);

const toolHopFunction = z.looseObject({
  name: filled,
  description: z.string(),
  parameters: z.looseObject({}),
});

/** ToolHop: the answer, the sub-answers that results bring to light, and functions as Python. */
export const toolHop = benchmark(
  z.looseObject({
    question: filled,
    answer: z.union([filled, z.number()]),
    sub_task: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    tools: z.record(z.string(), toolHopFunction),
    functions: z.array(z.string()).default([]),
  }),
  ({ question, answer, sub_task: hops, tools, functions }) => ({
    question,
    answers: [String(answer)],
    task: {
      ...noTask,
      gold: goldOf(
        'answers',
        'sub_task',
        unique(Object.values(hops).map((one) => pythonText(one).trim())),
      ),
      functions: Object.values(tools).map((one) => JSON.stringify(one)),
      program: functions.join('\n\n'),
    },
  }),
);

const turn = z.looseObject({
  role: z.string(),
  text: z.string().optional(),
  api_name: z.string().optional(),
  param_dict: z.record(z.string(), z.unknown()).optional(),
});

/** The call by which API-Bank's level 3 finds tools; our policies have a search of their own. */
const SEARCHER = 'ToolSearcher';

const levelOne = benchmark(
  z.looseObject({ chat_history: z.array(turn).min(1) }),
  ({ chat_history: turns }) => {
    const last = turns.findLastIndex(({ role }) => role === 'User');
    if (last < 0) throw new FieldFault('chat_history', 'has no turn of the User');
    const calls = turns.flatMap(({ role, api_name: name, param_dict: given = {} }) =>
      role === 'API' && name !== undefined ? [{ name, arguments: given }] : [],
    );
    const answer = turns.findLast(({ role, text = '' }) => role === 'AI' && text !== '')?.text;
    const said = turns.slice(0, last + 1).map(({ role, text = '' }) => `${role}: ${text}`);
    return {
      question: said.join('\n').trim(),
      answers: answer === undefined ? [] : [answer],
      task: {
        ...noTask,
        gold: goldOf(
          'calls',
          'chat_history',
          calls.map((one) => JSON.stringify(one)),
        ),
        functions: unique(calls.map(({ name }) => name)),
      },
    };
  },
);

const levelThree = benchmark(
  z.looseObject({
    requirement: filled,
    response: z.string().default(''),
    apis: z
      .array(
        z.looseObject({ api_name: filled, input: z.record(z.string(), z.unknown()).default({}) }),
      )
      .min(1),
  }),
  ({ requirement, response, apis }) => {
    const calls = apis.filter(({ api_name: name }) => name !== SEARCHER);
    const items = calls.map(({ api_name: name, input }) =>
      JSON.stringify({ name, arguments: input }),
    );
    return {
      question: requirement,
      answers: response.trim() === '' ? [] : [response],
      task: { ...noTask, gold: goldOf('calls', 'apis', items) },
    };
  },
);

/** API-Bank: a conversation of level 1 as `chat_history`, or a row of level 3. */
export const apiBank: ReadBenchmark = (fields, place) =>
  (fields.chat_history === undefined ? levelThree : levelOne)(fields, place);

/**
 * ALFWorld: its environment sets the task and decides whether it is done; subgoals are patterns of what it
 * shows.
 */
export const alfWorld = benchmark(
  z.looseObject({ goal: filled, subgoals: filled }),
  ({ goal, subgoals }, place) => {
    const patterns = subgoals.split('\n').flatMap((line) => {
      const found = /^Subgoal \d+: (.+)/.exec(line.trim());
      return found === null ? [] : [found[1]!.trim()];
    });
    return {
      question: goal,
      answers: [],
      task: {
        ...noTask,
        gold: goldOf('patterns', 'subgoals', patterns),
        world: JSON.stringify({ reset: { index: place - 1 }, shows: goal }),
      },
    };
  },
);

/** WebShop: a session of its environment, which says what to buy and rates the purchase. */
export const webShop = benchmark(
  z.looseObject({
    session_id: z.string().optional(),
    Question: z.string().optional(),
    instruction: z.string().optional(),
  }),
  ({ session_id: session, Question: asked, instruction = asked }, place) => ({
    question:
      instruction?.trim() || `Buy what the shop asks for in session ${session ?? place - 1}.`,
    answers: [],
    task: {
      ...noTask,
      world: JSON.stringify({
        reset: { index: place - 1, session: session ?? `fixed_${place - 1}` },
      }),
    },
  }),
);

/**
 * GAIA's attachment, or HLE's image, by its name in the folder of the run's files; null = none. An image that
 * the row holds itself is written to `images`.
 */
export function attachment(
  field: 'file_name' | 'image',
): (fields: Fields, images: ImagesFolder) => { readonly note: string; readonly task: Task } | null {
  return (fields, images) => {
    const given = fields[field];
    if (given === undefined || given === null || given === '') return null;
    const isInline = typeof given === 'string' && given.startsWith('data:');
    const name = isInline ? inlineImage(field, given, images) : given;
    const read = readTask({ files: [name] });
    if ('reason' in read) throw new FieldFault(field, read.reason);
    return {
      note: `Attached ${field === 'image' ? 'image' : 'file'}: ${String(name)}`,
      task: read.task,
    };
  };
}

/** A row's reader from its shape; what does not fit is a fault of the row. */
function benchmark<T>(
  shape: z.ZodType<T>,
  read: (row: T, place: number) => BenchmarkQuestion,
): ReadBenchmark {
  return (fields, place) => {
    const row = shape.safeParse(fields);
    if (row.success) return read(row.data, place);
    const [issue] = row.error.issues;
    const [field = ''] = issue!.path;
    const missing = fields[String(field)] === undefined;
    const inner = issue!.path.slice(1).join('.');
    throw new FieldFault(
      String(field),
      missing ? 'is missing' : `${inner === '' ? '' : `${inner}: `}${issue!.message}`,
    );
  };
}

/** Checked as in the user's own file. */
function goldOf(kind: Gold['kind'], field: string, items: readonly string[]): Gold {
  const read = readTask({ gold: { kind, items } });
  if ('reason' in read) {
    throw new FieldFault(field, items.length === 0 ? 'has nothing to score by' : read.reason);
  }
  return read.task.gold!;
}

function unique(items: readonly string[]): string[] {
  return [...new Set(items)];
}

/** As Python prints it, because that is what its results hold. */
function pythonText(value: string | number | boolean): string {
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
}
