/**
 * The tokenizer of a Hugging Face checkpoint, with its chat template (folderTemplates.ts).
 * `tokenizer_config.json` names the special tokens.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MillraceError } from '../../base/index.ts';
import type { ChatTemplate } from '../chat/chatTemplate.ts';
import { guardedParts } from '../chat/guardedParts.ts';
import { type LoadedTokenizer, noTemplate } from '../tokenizers/loadedTokenizer.ts';
import { type BpeTokenizer, bpeTokenizer } from './bpeTokenizer.ts';
import { folderTemplate } from './folderTemplates.ts';
import { readJson } from './readJson.ts';

const special = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)])
  .nullish();
const ids = z.union([z.number().transform((id) => [id]), z.array(z.number())]).nullish();

const templates = z
  .union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))])
  .nullish();

const configFile = z.looseObject({
  bos_token: special,
  eos_token: special,
  pad_token: special,
  unk_token: special,
  // a list has no names
  extra_special_tokens: z.record(z.string(), special).nullish().catch(null),
  chat_template: templates,
});
const templateFile = z.looseObject({ chat_template: templates });
type ConfigFile = z.infer<typeof configFile>;
const endFile = z.looseObject({ eos_token_id: ids });

/**
 * `json` = the contents of the folder's file `path`. Rejects with `TOKENIZER`, `CHECKPOINT` or
 * `CHAT_TEMPLATE`.
 */
export async function checkpointTokenizer(
  folder: string,
  path: string,
  json: unknown,
): Promise<LoadedTokenizer> {
  const base = bpeTokenizer(path, json);
  const config = await optional(folder, 'tokenizer_config.json', configFile, {});
  const named = namedTokens(config);
  const other = await optional(folder, 'chat_template.json', templateFile, {});
  const template = await folderTemplate(folder, [other.chat_template, config.chat_template], named);
  const endTokens = await findEnds(folder, base, named);
  const chat: ChatTemplate = template ?? {
    render: () => noTemplate(folder),
    runs: () => noTemplate(folder),
  };
  return {
    ...base,
    startToken: named.bos_token === undefined ? null : base.id(named.bos_token),
    endToken: endTokens[0]!,
    endTokens,
    chat: template !== null,
    applyChatTemplate: chat.render,
    chatRuns: chat.runs,
    chatParts: (messages, options) => guardedParts(chat, messages, options),
    encodeChat: (messages, options) => base.encodeParts(guardedParts(chat, messages, options)),
  };
}

/** A JSON file that may be missing. */
async function optional<Shape extends z.ZodType>(
  folder: string,
  name: string,
  shape: Shape,
  otherwise: z.infer<Shape>,
): Promise<z.infer<Shape>> {
  const path = join(folder, name);
  if ((await stat(path).catch(() => null)) === null) return otherwise;
  const parsed = shape.safeParse(await readJson(path));
  if (parsed.success) return parsed.data;
  const [{ path: field, message }] = parsed.error.issues as [z.core.$ZodIssue];
  throw new MillraceError('TOKENIZER', `${path}: ${field.join('.')}: ${message}`, {
    context: { file: path },
  });
}

const NAMED = ['bos', 'eos', 'pad', 'unk', 'sep', 'cls', 'mask'].map((name) => `${name}_token`);

/** The special tokens that a chat template may name, including the model's own (`extra_special_tokens`). */
function namedTokens(config: ConfigFile): Readonly<Record<string, string>> {
  const given = [
    ...NAMED.map((name) => [name, special.safeParse(config[name]).data] as const),
    ...Object.entries(config.extra_special_tokens ?? {}),
  ];
  return Object.fromEntries(given.filter((pair): pair is [string, string] => pair[1] != null));
}

/** The tokenizer's own end token first, then those of the generation settings and the model. */
async function findEnds(
  folder: string,
  base: BpeTokenizer,
  named: Readonly<Record<string, string>>,
): Promise<readonly number[]> {
  const own = named.eos_token === undefined ? [] : [base.id(named.eos_token)];
  const generation = await optional(folder, 'generation_config.json', endFile, {});
  const model = await optional(folder, 'config.json', endFile, {});
  const ends = new Set([...own, ...(generation.eos_token_id ?? model.eos_token_id ?? [])]);
  if (ends.size > 0) return [...ends];
  throw new MillraceError(
    'TOKENIZER',
    `${folder} has no end-of-text token: set eos_token in tokenizer_config.json`,
    { context: { file: folder } },
  );
}
