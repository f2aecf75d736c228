/** Templates, conversations and sources whose renderings are known, and what we make of them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '../../base/errors.ts';
import type { Value } from '../../jinja/index.ts';
import { compile, convert, parseJson, TemplateFailure } from '../../jinja/index.ts';
import {
  type ChatMessage,
  type ChatTemplate,
  chatTemplate,
} from '../../model/chat/chatTemplate.ts';

const TOKENS = { bos_token: '<s>', eos_token: '</s>', pad_token: '<pad>', unk_token: '<unk>' };
const NOW = new Date('2026-11-22T12:00:00Z');

export const fixtures = (name: string): string =>
  fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

interface Conversation {
  readonly name: string;
  readonly conversation: {
    readonly messages: readonly ChatMessage[];
    readonly tools: readonly unknown[] | null;
    readonly gen: boolean;
    readonly vars: Readonly<Record<string, unknown>>;
  };
}

const lines = (name: string): readonly string[] =>
  readFileSync(fixtures(name), 'utf8').trimEnd().split('\n');

export const conversations = lines('conversations.jsonl').map(
  (line) => parseJson(line) as Conversation,
);

/** Renderings by template and conversation; null where one is refused. */
export type Renderings = Readonly<Record<string, Readonly<Record<string, string | null>>>>;

/** Every template of a folder over every conversation. */
export function renderAll(folder: string): Renderings {
  const files = readdirSync(folder).filter((name) => name.endsWith('.jinja'));
  return Object.fromEntries(
    files.sort().map((file) => {
      const template = refusable(() =>
        chatTemplate(file, readFileSync(join(folder, file), 'utf8'), TOKENS),
      );
      const texts = conversations.map(({ name, conversation }) => [
        name,
        template === null ? null : renderOne(template, conversation),
      ]);
      return [file, Object.fromEntries(texts)];
    }),
  );
}

function renderOne(
  template: ChatTemplate,
  { messages, tools, gen, vars }: Conversation['conversation'],
): string | null {
  const options = { addGenerationPrompt: gen, variables: vars, now: NOW };
  return refusable(() =>
    template.render(messages, tools === null ? options : { ...options, tools }),
  );
}

/** Null for a refusal that names the file; any other failure is our own. */
function refusable<Result>(act: () => Result): Result | null {
  try {
    return act();
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'CHAT_TEMPLATE') return null;
    throw error;
  }
}

interface Source {
  readonly source: string;
  /** Null where Jinja refuses. */
  readonly text: string | null;
}

const [first = '', ...rest] = lines('sources.jsonl');
export const sources = rest.map((line) => JSON.parse(line) as Source);
const given = parseJson((JSON.parse(first) as { context: string }).context);
const variables = new Map<string, Value>(
  Object.entries(given as object).map(([name, value]) => [name, convert(value)]),
);

/** One source with the variables of the file, or null. */
export function renderSource(source: string, timed = true): string | null {
  try {
    return compile(source)(variables, undefined, timed)
      .map(({ text }) => text)
      .join('');
  } catch (error) {
    if (error instanceof TemplateFailure) return null;
    throw error;
  }
}
