/**
 * A question as it is in a file, and the one place where the fields of a row become one.
 *
 * All formats share five fields: `id`, `source`, `question`, `answers` (or one `answer`), `ability`. A sixth,
 * `task`, may say more (gold calls, functions, files, an environment), and then answers may be left out.
 * Rows of the RL schema (ET-Agent §7.6) are first brought to these names; complaints still name the
 * field as the file has it. Unknown fields are ignored.
 */
import type { Ability, Task } from '../topics/index.ts';
import { kindName } from './rawRow.ts';
import { readTask } from './task.ts';

/** One row of a questions file: a `Question` before it is given a phase and a round. */
export interface QuestionRow {
  readonly id: string;
  readonly source: string;
  readonly question: string;
  /** Each of them is right; empty only if something else decides (`task`). */
  readonly answers: readonly string[];
  readonly ability: Ability;
  /** Anything besides its answers. */
  readonly task?: Task;
}

/** What is wrong with a row, and in which field. */
export interface Complaint {
  readonly field: string;
  readonly reason: string;
  /** The row's id if it has one, otherwise empty. */
  readonly key: string;
}

type Fields = Readonly<Record<string, unknown>>;
/** The fields of a row, or what is wrong with them. */
export type Checked = { readonly value: QuestionRow } | { readonly complaint: Complaint };

const names = ['id', 'source', 'question', 'answers', 'ability'] as const;
type Name = (typeof names)[number];

/** Ids become keys, and parts of rollout ids. */
export const idCharactersMax = 256;

/** Defaults for rows without `source` or `id`. */
export interface RowDefaults {
  readonly source: string;
  readonly id: string;
}

/**
 * Our fields, if a file has only questions and answers: id and source as given, `math` where every answer
 * is a number or LaTeX, `qa` otherwise. Rows of the RL schema stay as they are.
 */
export function withDefaults(fields: Fields, { source, id }: RowDefaults): Fields {
  if (fields.reward_model !== undefined) return fields;
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  const stated = fields.answers ?? fields.answer;
  return {
    id,
    source,
    ability: (Array.isArray(stated) ? stated : [stated]).every(isMathematics) ? 'math' : 'qa',
    ...Object.fromEntries(given),
  };
}

const NUMBER = /^[-+]?[$€£]?\d[\d,]*(\.\d+)?(\s*\/\s*\d+)?\s*%?$/;
const LATEX = /^\$.*\$$|\\[A-Za-z]/s;

function isMathematics(answer: unknown): boolean {
  if (typeof answer === 'number') return true;
  return typeof answer === 'string' && (NUMBER.test(answer.trim()) || LATEX.test(answer.trim()));
}

/** What is missing from these columns, or null when a question can be read from them. */
export function missingColumns(columns: readonly string[]): string | null {
  const needed: readonly string[] = columns.includes('reward_model')
    ? ['data_source', 'ability', 'reward_model', 'extra_info']
    : names;
  const has = (name: string) =>
    columns.includes(name) || (name === 'answers' && columns.includes('answer'));
  const missing = needed.filter((name) => !has(name));
  if (missing.length === 0) return null;
  return `no column ${missing.join(', ')}; its columns are ${columns.join(', ')}. A questions file needs ${needed.join(', ')}`;
}

/**
 * Checks the fields of a row. `text` = every cell is text (CSV), so a list of answers is written out.
 * `unanswered` = answers may be missing.
 */
export function questionRow(fields: Fields, text: boolean, unanswered = false): Checked {
  const { values, called } = fields.reward_model === undefined ? plain(fields) : rl(fields);
  const key = typeof values.id === 'string' ? values.id : '';
  try {
    const cells: Fields = { ...values, answers: text ? listed(values.answers) : values.answers };
    const task = taskOf(fields.task);
    const value: QuestionRow = {
      id: identifier(cells.id),
      source: filled('source', cells.source),
      question: filled('question', cells.question),
      answers:
        (unanswered || isScored(task)) && isMissing(cells.answers) ? [] : answers(cells.answers),
      ability: ability(cells.ability),
      ...(task === null ? {} : { task }),
    };
    return { value };
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    const field = error.field in called ? called[error.field as Name] : error.field;
    return { complaint: { field, reason: error.message, key } };
  }
}

/** Whether calls or an environment say how well a question was answered. */
function isScored(task: Task | null): boolean {
  return task !== null && (task.gold !== null || task.world !== '');
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function taskOf(given: unknown): Task | null {
  if (isMissing(given)) return null;
  const read = readTask(given);
  if ('reason' in read) throw new Wrong(read.field, read.reason);
  return read.task;
}

class Wrong extends Error {
  readonly field: string;
  constructor(field: string, reason: string) {
    super(reason);
    this.field = field;
  }
}

/** An `answer` is taken as it is, whatever it begins with; the list around it keeps it from being split. */
function plain(fields: Fields): { values: Fields; called: Record<Name, string> } {
  const called = { ...same };
  if (fields.answers !== undefined || fields.answer === undefined)
    return { values: fields, called };
  return {
    values: { ...fields, answers: [fields.answer] },
    called: { ...called, answers: 'answer' },
  };
}

const same = Object.fromEntries(names.map((name) => [name, name])) as Record<Name, string>;

const rlNames: Record<Name, string> = {
  id: 'extra_info.index',
  source: 'data_source',
  question: 'extra_info.question',
  answers: 'reward_model.ground_truth',
  ability: 'ability',
};

function rl(fields: Fields): { values: Fields; called: Record<Name, string> } {
  const extra = (fields.extra_info ?? {}) as Fields;
  const truth = (fields.reward_model as Fields | null)?.ground_truth;
  const index = typeof extra.index === 'bigint' ? Number(extra.index) : extra.index;
  const values = {
    id: Number.isInteger(index) ? `${String(fields.data_source)}-${index}` : index,
    source: fields.data_source,
    question: extra.question ?? lastOfUser(fields.prompt),
    answers: typeof truth === 'string' ? [truth] : truth,
    ability: fields.ability,
  };
  return { values, called: rlNames };
}

function lastOfUser(prompt: unknown): unknown {
  if (!Array.isArray(prompt)) return undefined;
  return prompt.findLast((message) => (message as Fields | null)?.role === 'user')?.content;
}

/** Answers in one cell: a JSON array, or parts separated by `|`. */
function listed(cell: unknown): unknown {
  if (typeof cell !== 'string') return cell;
  if (!cell.trimStart().startsWith('[')) {
    return cell.trim() === '' ? cell : cell.split('|').map((part) => part.trim());
  }
  try {
    return JSON.parse(cell);
  } catch {
    const advice = 'put an answer that begins with [ into a column "answer" or into a JSON array';
    throw new Wrong('answers', `invalid JSON: not an array of strings; ${advice}`);
  }
}

function filled(field: Name, value: unknown): string {
  if (value === undefined || value === null) throw new Wrong(field, 'is missing');
  if (typeof value !== 'string') throw new Wrong(field, `must be a string, not ${kindName(value)}`);
  if (value.trim() === '') throw new Wrong(field, 'is empty');
  return value;
}

function identifier(value: unknown): string {
  const id = filled('id', value);
  if (id.length > idCharactersMax) {
    throw new Wrong('id', `is longer than ${idCharactersMax} characters`);
  }
  return id;
}

function answers(value: unknown): string[] {
  if (!Array.isArray(value)) {
    filled('answers', value);
    throw new Wrong(
      'answers',
      'must be a list of strings; a single answer goes into the field "answer"',
    );
  }
  if (value.length === 0) throw new Wrong('answers', 'has no answer');
  return value.map((answer) => filled('answers', answer));
}

function ability(value: unknown): Ability {
  const given = filled('ability', value);
  if (given === 'math' || given === 'qa') return given;
  throw new Wrong('ability', `must be "math" or "qa", not ${JSON.stringify(given)}`);
}
