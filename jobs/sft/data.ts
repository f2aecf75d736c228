/**
 * The data of a fine-tuning, read through once at the beginning of a run. So the number of its rows and of
 * its steps is known, and the place of every unusable row, before the first step.
 *
 * The findings are kept in the run's folder (`data.json`) with the digests of the files: a resumed run relies
 * on them, and refuses files that have changed since, as it could not say which of their rows it has learnt.
 */

import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { MillraceError, messageOf, replaceFile } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import { fileDigest } from '../../model/hf/index.ts';
import type { Tokenizer, TrainSequence } from '../../model/index.ts';
import { type ChatTokenizer, encodeConversation } from '../../operators/dialect/index.ts';
import type { EncodeExample, EncodeGiven } from '../../sinks/trainer/index.ts';
import {
  type ConversationFile,
  type ConversationItem,
  conversationFiles,
  readConversations,
} from '../../sources/index.ts';
import type { ChatTurn, Demonstration, Question } from '../../topics/index.ts';
import type { SftSettings } from './settings.ts';

/** A tokenizer, with a chat template if the policy has one. */
export type DataTokenizer = Tokenizer & Partial<ChatTokenizer> & { readonly chat?: boolean };

/** What data is opened for. */
export interface DataPlace {
  readonly tokenizer: DataTokenizer;
  /** The run's folder, absolute. */
  readonly folder: string;
  /** The job's round in which the data is learnt, from 1. */
  readonly round: number;
  readonly print: (line: string) => void;
}

/** What fine-tuning needs from its data. */
export interface SftData {
  /** Rows to learn. */
  readonly rows: number;
  readonly round: number;
  /** Each row once, in the order of the files: a demonstration, or a dead letter. */
  items(): AsyncIterable<ConversationItem>;
  readonly encodeGiven: EncodeGiven;
  /** How its conversations prompt. */
  readonly asked: Found['asked'];
  /** Whether they are learnt as they are; otherwise in the policy's own prompt. */
  readonly asTheyAre: boolean;
  /** The first `heldOutMax` usable rows of the held-out file, read on demand; empty without such a file. */
  heldOut(encode: EncodeExample): Promise<readonly TrainSequence[]>;
}

const found = z.object({
  files: z.array(z.object({ path: z.string(), bytes: z.number(), digest: z.string() })),
  /** What else the outcome depends on. */
  settings: z.record(z.string(), z.unknown()),
  rows: z.number(),
  /** Why rows fit no form or template, by id if they are conversations. */
  refused: z.record(z.string(), z.string()),
  /** Unusable rows, and the first of them. */
  unusable: z.number(),
  first: z.string(),
  /**
   * The system prompt and the functions of the rows; null = they differ from row to row. Older runs lack it.
   */
  asked: z
    .object({ system: z.string().nullable(), functions: z.string().nullable() })
    .nullable()
    .default(null),
});
type Found = z.infer<typeof found>;

/** Reads the data in the settings through. Throws code `DATA_FILE`. */
export async function openData(settings: SftSettings, place: DataPlace): Promise<SftData> {
  const { tokenizer, round, print } = place;
  const chat = chatOf(tokenizer, settings);
  const files = await usable(conversationFiles(settings.data, settings.form));
  if (files.length === 0) throw dataError('no data to learn from: set data=FILE');
  const encodeGiven = encoder(chat, settings);
  const check = checker(chat);
  const known = await surveyed(files, check, settings, place);
  if (known.rows === 0) {
    throw dataError(`no usable row in ${settings.data}; first row: ${known.first || 'none'}`);
  }
  const steps = Math.ceil(known.rows / settings.size);
  const left = known.unusable + Object.keys(known.refused).length;
  print(
    `data: ${counted(known.rows, 'conversation')}${left === 0 ? '' : ` (and ${counted(left, 'unusable row')}, see the dead letters)`}, ` +
      `${counted(settings.epochs, 'epoch')} of ${counted(steps, 'step')}`,
  );
  return {
    rows: known.rows,
    round,
    asked: known.asked,
    asTheyAre: chat !== null,
    items: () => learnable(files, round, new Map(Object.entries(known.refused))),
    encodeGiven,
    heldOut: (encode) => heldOutOf(settings, encode, encodeGiven),
  };
}

type Check = (given: Demonstration, question: Question) => void;

/** The tokenizer if conversations go through its template; null if the policy's own prompt is used. */
function chatOf(tokenizer: DataTokenizer, { prompt }: SftSettings): ChatTokenizer | null {
  const chat = tokenizer.chat === true ? (tokenizer as ChatTokenizer) : null;
  if (prompt === 'data' && chat === null) {
    throw new MillraceError(
      'CHAT_TEMPLATE',
      'the policy has no chat template for conversations: put one into chat_template.jinja beside its tokenizer, or set prompt=policy',
    );
  }
  return prompt === 'policy' ? null : chat;
}

function encoder(chat: ChatTokenizer | null, settings: SftSettings): EncodeGiven {
  const { learn, results, afterEnd } = settings;
  return (question, given, encode) => {
    if (chat === null) {
      const { asked, answered } = oneAnswer(given, question);
      return [encode(asked, answered)];
    }
    const options = { tokenizer: chat, learn, results, afterEnd };
    return encodeConversation(turnsOf(given, question), given.functions, options);
  };
}

/** Throws if a row cannot be written as a sequence; nothing is tokenised. */
function checker(chat: ChatTokenizer | null): Check {
  if (chat === null) return oneAnswer;
  const nothing = new Int32Array(0);
  const dry = { ...chat, encode: () => nothing, encodeParts: () => nothing };
  const options = { learn: 'answers', results: 'trained', afterEnd: 'trained' } as const;
  return (given, question) => {
    encodeConversation(turnsOf(given, question), given.functions, { tokenizer: dry, ...options });
  };
}

function turnsOf(given: Demonstration, { question }: Question): readonly ChatTurn[] {
  if (given.turns.length > 0) return given.turns;
  const plain = { thinking: '', calls: [], name: '', callId: '' };
  return [
    { ...plain, role: 'user', text: question, learnt: false },
    { ...plain, role: 'assistant', text: given.text, learnt: true },
  ];
}

/** For the policy's own prompt: the one question and the one answer; the data's system text is not used. */
function oneAnswer(given: Demonstration, question: Question): { asked: string; answered: string } {
  const turns = turnsOf(given, question).filter(({ role }) => role !== 'system');
  const [asked, answered, ...more] = turns;
  const isPlain =
    asked?.role === 'user' && answered?.role === 'assistant' && answered.calls.length === 0;
  if (!isPlain || more.length > 0) {
    throw dataError(
      'has more than one question and answer, which prompt=policy does not support; set prompt=data',
    );
  }
  return { asked: asked.text, answered: answered.text };
}

/** What is known about these files: from the run's folder, or by reading them through. */
async function surveyed(
  files: readonly ConversationFile[],
  check: Check,
  { form, prompt }: SftSettings,
  { folder, round }: DataPlace,
): Promise<Found> {
  const path = join(folder, 'data.json');
  const before = await readFound(path);
  const settings = { form, prompt };
  const there = await Promise.all(files.map(({ path: file }) => stat(file).catch(() => null)));
  // if a run has taken all rows, the files may be gone
  const same = files.every(({ path: file }, i) => before?.files[i]?.path === file);
  if (before !== null && same && there.every((entry) => entry === null)) return before;
  const digests = files.map(({ path: file }, i) => ({
    path: file,
    bytes: there[i]?.size ?? 0,
    digest: there[i]?.isFile() ? fileDigest(file) : '',
  }));
  if (before !== null) {
    const changed = digests.find(({ digest }, i) => digest !== before.files[i]?.digest);
    if (changed !== undefined || digests.length !== before.files.length) {
      throw dataError(
        `${changed?.path ?? 'the list of data files'} has changed since the run began to learn from it; restore it, or start another run`,
      );
    }
    if (isDeepStrictEqual(before.settings, settings)) return before;
  }
  const counted = await survey(files, round, check);
  const now = { files: digests, settings, ...counted };
  if (now.rows === 0) return now;
  await mkdir(folder, { recursive: true });
  await replaceFile(path, `${JSON.stringify(now, null, 1)}\n`);
  return now;
}

async function readFound(path: string): Promise<Found | null> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  const parsed = found.safeParse(JSON.parse(text));
  return parsed.success ? parsed.data : null;
}

async function survey(files: readonly ConversationFile[], round: number, check: Check) {
  const refused: Record<string, string> = {};
  const systems = new Set<string>();
  const functions = new Set<string>();
  let rows = 0;
  let unusable = 0;
  let first = '';
  for await (const item of opened(files, round)) {
    if ('deadLetter' in item) {
      unusable++;
      const { origin, place, field, reason } = item.deadLetter;
      if (first === '') first = [`${origin} ${place}:`, field, reason].filter(Boolean).join(' ');
      continue;
    }
    const { question, kept } = item.value;
    try {
      const [given] = kept;
      check(given!, question);
      rows++;
      if (systems.size < 2) systems.add(systemOf(given!));
      if (functions.size < 2) functions.add(given!.functions);
    } catch (error) {
      refused[question.id] = messageOf(error);
      if (first === '') first = `${question.id}: ${messageOf(error)}`;
    }
  }
  return {
    rows,
    unusable,
    refused,
    first,
    asked: { system: only(systems), functions: only(functions) },
  };
}

function systemOf({ turns: [first] }: Demonstration): string {
  return first?.role === 'system' ? first.text : '';
}

function only(texts: ReadonlySet<string>): string | null {
  const [text = ''] = texts;
  return texts.size > 1 ? null : text;
}

async function* learnable(
  files: readonly ConversationFile[],
  round: number,
  refused: ReadonlyMap<string, string>,
): AsyncGenerator<ConversationItem> {
  for await (const item of opened(files, round)) {
    const reason = 'value' in item ? refused.get(item.value.question.id) : undefined;
    if ('deadLetter' in item || reason === undefined) {
      yield item;
      continue;
    }
    const { id, source } = item.value.question;
    const place = Number(id.slice(id.lastIndexOf('#') + 1));
    const payload = item.value.kept[0]?.text ?? '';
    yield { deadLetter: { origin: source, place, key: id, field: '', reason, payload } };
  }
}

async function heldOutOf(
  { heldOut, heldOutMax, form, tokensMax }: SftSettings,
  encode: EncodeExample,
  encodeGiven: EncodeGiven,
): Promise<readonly TrainSequence[]> {
  const sequences: TrainSequence[] = [];
  const files = await usable(conversationFiles(heldOut, form));
  if (files.length === 0) return sequences;
  let rows = 0;
  for await (const item of opened(files, 0)) {
    if (rows >= heldOutMax) break;
    if ('deadLetter' in item) continue;
    const { question, kept } = item.value;
    try {
      const made = encodeGiven(question, kept[0]!, encode);
      sequences.push(...made.filter(({ tokens }) => tokens.length <= tokensMax));
      rows++;
    } catch {
      // what cannot be written is not measured; in the data it would be a dead letter
    }
  }
  if (sequences.length > 0) return sequences;
  throw dataError(
    `no row of ${heldOut} has at most ${tokensMax} tokens, so there is no held-out loss to measure`,
  );
}

async function* opened(
  files: readonly ConversationFile[],
  round: number,
): AsyncGenerator<ConversationItem> {
  try {
    yield* readConversations(files, { round });
  } catch (error) {
    throw asDataError(error);
  }
}

async function usable<T>(opening: Promise<T>): Promise<T> {
  return opening.catch((error: unknown) => {
    throw asDataError(error);
  });
}

function asDataError(error: unknown): unknown {
  return error instanceof MillraceError && error.code === 'QUESTIONS_FILE'
    ? dataError(error.message, error)
    : error;
}

function dataError(message: string, cause?: unknown): MillraceError<'DATA_FILE'> {
  return new MillraceError('DATA_FILE', message, cause === undefined ? {} : { cause });
}
