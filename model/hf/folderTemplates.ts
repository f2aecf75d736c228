/**
 * The chat templates in a folder: one, or several by name, of which a conversation with tools takes
 * `tool_use` if there is one, and every other `default`, as transformers chooses. If only one of the two is
 * there, it serves for both.
 *
 * They are in `chat_template.jinja` (the default) and `additional_chat_templates/NAME.jinja`, else in
 * `chat_template.json`, else in `tokenizer_config.json`, as a text or as a list of names and texts.
 */
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { systemCode } from '../../base/index.ts';
import { type ChatTemplate, chatTemplate } from '../chat/chatTemplate.ts';

/** The form of `chat_template` in a JSON file. */
export type GivenTemplates =
  | string
  | readonly { readonly name: string; readonly template: string }[]
  | null
  | undefined;

/** A template's text, and its place, for messages. */
interface Source {
  readonly path: string;
  readonly text: string;
}

type Sources = ReadonlyMap<string, Source>;

const DEFAULT = 'default';
const WITH_TOOLS = 'tool_use';
/** Limit of further templates. */
const USED = [DEFAULT, WITH_TOOLS];

/**
 * The template of a folder; null if it has none. `inFiles` are those of its JSON files, the first that has
 * any counts; `tokens` as in `chatTemplate`. Throws `CHAT_TEMPLATE` when one does not parse, and what the
 * system says about a file that cannot be read.
 */
export async function folderTemplate(
  folder: string,
  inFiles: readonly GivenTemplates[],
  tokens: Readonly<Record<string, string>>,
): Promise<ChatTemplate | null> {
  const all = [await ownFiles(folder), ...inFiles.map((given) => listed(folder, given))];
  const sources = all.find(({ size }) => size > 0);
  const [plain, withTools] = USED.map((name) => {
    const source = sources?.get(name);
    return source && chatTemplate(source.path, source.text, tokens);
  });
  if (withTools === undefined) return plain ?? null;
  const of = (tools: unknown): ChatTemplate =>
    tools === undefined ? (plain ?? withTools) : withTools;
  return {
    render: (messages, options) => of(options?.tools).render(messages, options),
    runs: (messages, options) => of(options?.tools).runs(messages, options),
  };
}

async function ownFiles(folder: string): Promise<Sources> {
  const more = join(folder, 'additional_chat_templates');
  const names = (await ifThere(readdir(more))) ?? [];
  const files = [
    [DEFAULT, join(folder, 'chat_template.jinja')] as const,
    ...names
      .filter((name) => name.endsWith('.jinja'))
      .map((name) => [basename(name, '.jinja'), join(more, name)] as const),
  ];
  const found = await Promise.all(
    files.map(async ([name, path]) => {
      const text = await ifThere(readFile(path, 'utf8'));
      return text === null ? [] : [[name, { path, text }] as const];
    }),
  );
  return new Map(found.flat());
}

/** Null if there is none. One that cannot be read fails, so that no other takes its place. */
async function ifThere<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function listed(path: string, given: GivenTemplates): Sources {
  const all = typeof given === 'string' ? [{ name: DEFAULT, template: given }] : (given ?? []);
  return new Map(all.map(({ name, template: text }) => [name, { path, text }]));
}
