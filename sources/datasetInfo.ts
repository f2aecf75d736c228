/**
 * LLaMA-Factory's `dataset_info.json`: the file of a dataset by its name, its form, and what its columns and
 * roles are called. As there, a column that an entry with `columns` does not name is not read.
 *
 * Datasets on a hub and datasets of preferences are refused: nothing is fetched, and pairs are not fine-tuned
 * on.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { type Columns, type ConversationForm, defaultColumns } from './conversationForms.ts';
import { questionsFileError } from './rawRow.ts';

/** A file of conversations: where it is and how to read it. */
export interface ConversationFile {
  readonly path: string;
  readonly form: ConversationForm;
  /** Null = the form's own. */
  readonly columns: Columns | null;
}

const names = z.record(z.string(), z.string().nullable());
const entryShape = z.looseObject({
  file_name: z.string().optional(),
  formatting: z.enum(['alpaca', 'sharegpt', 'openai']).default('alpaca'),
  ranking: z.boolean().default(false),
  columns: names.optional(),
  tags: names.optional(),
});
type Entry = z.infer<typeof entryShape>;

/** The dataset `name` of the file at `path`. Throws code `QUESTIONS_FILE`. */
export async function datasetIn(path: string, name: string): Promise<ConversationFile> {
  const all = await entriesOf(path);
  const given = all[name];
  if (given === undefined) {
    throw questionsFileError(
      `${path} has no dataset ${name}; its datasets are ${Object.keys(all).slice(0, 20).join(', ')}`,
    );
  }
  const parsed = entryShape.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw questionsFileError(
      `${path}: ${[name, ...(issue?.path ?? [])].join('.')}: ${issue?.message}`,
    );
  }
  const { file_name: file, formatting, ranking } = parsed.data;
  if (ranking) throw questionsFileError(`${path}: ${name} has preferences (ranking), not answers`);
  if (file === undefined) {
    throw questionsFileError(
      `${path}: ${name} has no file_name; millrace does not download datasets, so download it and set file_name`,
    );
  }
  return { path: join(dirname(path), file), form: formatting, columns: columnsOf(parsed.data) };
}

async function entriesOf(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const all: unknown = JSON.parse(await readFile(path, 'utf8'));
    return z.record(z.string(), z.unknown()).parse(all);
  } catch (cause) {
    throw questionsFileError(
      `cannot read ${path} as dataset_info.json: ${(cause as Error).message}`,
      cause,
    );
  }
}

function columnsOf({ formatting, columns, tags }: Entry): Columns {
  const usual = defaultColumns[formatting];
  // LLaMA-Factory reads no system, tools or history unless the entry names them
  const unnamed = { system: null, tools: null, history: null };
  const named =
    columns === undefined
      ? { ...unnamed, query: usual.query }
      : {
          prompt: columns.prompt ?? '',
          query: columns.query ?? null,
          response: columns.response ?? '',
          messages: columns.messages ?? usual.messages,
          system: columns.system ?? null,
          tools: columns.tools ?? null,
          history: columns.history ?? null,
        };
  if (tags === undefined) return { ...usual, ...named };
  const roles: Record<string, Columns['roles'][string]> = {};
  const put = (tag: string | null | undefined, role: Columns['roles'][string]): void => {
    if (tag !== undefined && tag !== null) roles[tag] = role;
  };
  put(tags.user_tag, 'user');
  put(tags.assistant_tag, 'assistant');
  put(tags.observation_tag, 'tool');
  put(tags.function_tag, 'call');
  put(tags.system_tag, 'system');
  return {
    ...usual,
    ...named,
    role: tags.role_tag ?? usual.role,
    content: tags.content_tag ?? usual.content,
    roles: Object.keys(roles).length === 0 ? usual.roles : roles,
  };
}
