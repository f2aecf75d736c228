/**
 * Files of conversations to fine-tune on, as a stream of demonstrations: Alpaca, ShareGPT or OpenAI messages,
 * in JSON Lines, a JSON array, Parquet or CSV.
 *
 * Every row becomes exactly one item, in the order of the files: a demonstration, or a dead letter that names
 * file, line and field. One row is in memory at a time, so files may be of any size.
 */
import { basename, extname } from 'node:path';
import type { ChatTurn, DeadLetter, Demonstrations } from '../topics/index.ts';
import {
  type Columns,
  type Conversation,
  type ConversationForm,
  conversationOf,
  defaultColumns,
  formOf,
  WrongRow,
} from './conversationForms.ts';
import { type ConversationFile, datasetIn } from './datasetInfo.ts';
import { deadRow, openRows } from './openRows.ts';

/** A row of a data file: a demonstration, or why it cannot be used. */
export type ConversationItem =
  | { readonly value: Demonstrations }
  | { readonly deadLetter: DeadLetter };

export interface ConversationsOptions {
  /** The job's round in which they are learnt. */
  readonly round: number;
}

/** How people see a conversation of several turns; the turns have all of it. */
const SHOWN_CHARACTERS = 400;

/**
 * The files that a setting names, comma-separated: paths, each with `#NAME` for a dataset of a
 * `dataset_info.json`. Throws code `QUESTIONS_FILE`.
 */
export async function conversationFiles(
  given: string,
  form: ConversationForm,
): Promise<readonly ConversationFile[]> {
  const names = given.split(',').map((name) => name.trim());
  return Promise.all(
    names
      .filter((name) => name !== '')
      .map(async (name) => {
        const [info, dataset] = name.split(/#(?=[^#]*$)/);
        if (dataset !== undefined) return datasetIn(info as string, dataset);
        return { path: name, form, columns: null };
      }),
  );
}

/**
 * The rows of these files, one file after the other. Throws code `QUESTIONS_FILE` if a file cannot be used at
 * all.
 */
export async function* readConversations(
  files: readonly ConversationFile[],
  { round }: ConversationsOptions,
): AsyncGenerator<ConversationItem> {
  const stems = new Map<string, number>();
  for (const { path, form, columns } of files) {
    const stem = basename(path, extname(path));
    const times = (stems.get(stem) ?? 0) + 1;
    stems.set(stem, times);
    const source = times === 1 ? stem : `${stem}-${times}`;
    const { rows } = await openRows(path, 'data file', (names) =>
      form !== 'auto' || names.some((name) => known.has(name)) ? null : unknown(names),
    );
    for await (const row of rows) {
      if (row.kind === 'unreadable') {
        yield deadRow(path, row, { field: '', key: '', reason: row.reason });
        continue;
      }
      try {
        const conversation = read(row.fields, form, columns);
        const id = `${source}#${row.place}`;
        yield { value: demonstrationOf(conversation, { id, source, round }) };
      } catch (error) {
        if (!(error instanceof WrongRow)) throw error;
        const key = typeof row.fields.id === 'string' ? row.fields.id : '';
        const { field, message: reason } = error;
        yield deadRow(path, row, { field, key, reason });
      }
    }
  }
}

const known = new Set(['messages', 'conversations', 'conversation', 'instruction', 'output']);

function unknown(names: readonly string[]): string {
  return `no column with conversations (messages, conversations, or instruction and output); its columns are ${names.join(', ')}`;
}

function read(
  fields: Readonly<Record<string, unknown>>,
  form: ConversationForm,
  columns: Columns | null,
): Conversation {
  if (form !== 'auto') return conversationOf(fields, form, columns ?? defaultColumns[form]);
  const found = formOf(fields);
  if (found === null) {
    throw new WrongRow(
      '',
      `has none of the fields ${[...known].join(', ')}; set form to the format of the rows`,
    );
  }
  return conversationOf(fields, found.form, found.columns);
}

interface Place {
  readonly id: string;
  readonly source: string;
  readonly round: number;
}

/** One answer to one question stays plain text; everything else becomes turns. */
export function demonstrationOf(
  { turns, functions }: Conversation,
  { id, source, round }: Place,
): Demonstrations {
  const asked = turns.find(({ role }) => role === 'user')?.text ?? '';
  const answered = turns.findLast(({ learnt }) => learnt)?.text ?? '';
  const [first, second] = turns;
  const plain = turns.length === 2 && first?.role === 'user' && isPlain(second) && functions === '';
  const text = plain ? answered : shown(answered);
  return {
    question: {
      id,
      question: plain ? asked : shown(asked),
      answers: [],
      source,
      ability: 'qa',
      phase: 'evolve',
      round,
      schedule: null,
    },
    difficulty: '',
    kept: [
      {
        index: 0,
        round: 0,
        action: 'given',
        toolCalls: turns.reduce((sum, { calls }) => sum + calls.length, 0),
        text,
        turns: plain ? [] : turns,
        functions,
      },
    ],
    dropped: [],
    version: 0,
  };
}

function isPlain(turn: ChatTurn | undefined): boolean {
  return (
    turn?.role === 'assistant' && turn.learnt && turn.calls.length === 0 && turn.thinking === ''
  );
}

function shown(text: string): string {
  const characters = [...text.slice(0, 2 * SHOWN_CHARACTERS)];
  return characters.length <= SHOWN_CHARACTERS && text.length <= 2 * SHOWN_CHARACTERS
    ? text
    : `${characters.slice(0, SHOWN_CHARACTERS).join('')}…`;
}
