/**
 * How a policy is prompted, as a run records it (`millrace-prompt.json` in its folder): whatever starts from
 * the run prompts its policy the same way. `millrace model convert` puts the file with the weights that it
 * writes.
 *
 * Runs of versions that had no such file are read by their settings.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MillraceError, replaceFile, systemCode } from '../../base/index.ts';
import { jsonIn } from '../../base/text/index.ts';
import { type AskedBy, callFaults, type Dialect } from '../../operators/dialect/index.ts';
import { isDialectName, systemPrompt, usualDialect } from '../dialects/dialectOf.ts';

/** In the folder of a run, or of a policy made from one. */
export const PROMPT_FILE = 'millrace-prompt.json';

/** The placeholder for the question in a recorded prompt. */
export const QUESTION = '{question}';

const declared = z.looseObject({
  name: z.string(),
  about: z.string(),
  parameters: z.looseObject({ type: z.literal('object') }).optional(),
});

const schema = z.object({
  dialect: z.string(),
  callFaults: z.enum(callFaults).optional(),
  system: z.string().nullable(),
  tools: z.array(declared).nullable(),
  prompt: z.string().nullable(),
  sources: z.record(z.string(), z.string()).optional(),
});

/** How a policy is prompted. */
export interface PromptRecord extends AskedBy {
  /** `tags`, `native`, or the name of your own dialect. */
  readonly dialect: string;
  /** The prompt of a question, with `{question}` in its place; null = unknown. */
  readonly prompt: string | null;
}

/** A record as read. */
export interface KnownPrompt extends PromptRecord {
  /** Its system prompt is the jobs' default, which follows from the tools. */
  readonly usual: boolean;
  /** The system prompt's file of an older run, if it no longer exists. */
  readonly gone?: string;
}

/** The record for a dialect. */
export function promptRecord(dialect: Dialect): PromptRecord {
  const { name, asked = { system: null, tools: null } } = dialect;
  return { dialect: name, ...asked, prompt: renderedPrompt(dialect) };
}

/** The text of a question's prompt; null if a dialect of your own cannot prompt without a real question. */
export function renderedPrompt({ tokenizer, prompt }: Dialect): string | null {
  try {
    return tokenizer.decode(prompt(QUESTION));
  } catch {
    return null;
  }
}

/** Writes it unless it exists and says the same. */
export async function writePrompt(folder: string, record: PromptRecord): Promise<void> {
  const path = join(folder, PROMPT_FILE);
  const text = `${JSON.stringify(schema.parse(record), null, 1)}\n`;
  if ((await textAt(path)) === text) return;
  await mkdir(folder, { recursive: true });
  await replaceFile(path, text);
}

/** The record in a folder; null if there is none. Fails with code `DAMAGED`. */
export async function recordedPrompt(folder: string): Promise<KnownPrompt | null> {
  const path = join(folder, PROMPT_FILE);
  const text = await textAt(path);
  if (text === null) return null;
  try {
    return known(schema.parse(JSON.parse(text)) as PromptRecord);
  } catch (cause) {
    throw new MillraceError(
      'DAMAGED',
      `cannot read ${path}, which records the policy's prompt. Restore it, or delete it and set dialect and system`,
      { cause },
    );
  }
}

/** The same, or what an older run's settings say. */
export async function promptIn(folder: string): Promise<KnownPrompt | null> {
  return (await recordedPrompt(folder)) ?? (await ofOldRun(folder));
}

function known(record: PromptRecord): KnownPrompt {
  const { dialect, system, tools } = record;
  const usual =
    system !== null &&
    tools !== null &&
    isDialectName(dialect) &&
    system === systemPrompt(dialect, tools);
  return { ...record, usual };
}

const oldSettings = z.looseObject({
  /** Ready jobs have it, except those with a dialect of their own. */
  dialect: z.string().optional(),
  callFaults: z.enum(callFaults).optional(),
  system: z.string().default(''),
  /** Ready jobs that roll out have it. */
  promptMax: z.number().optional(),
  /** Fine-tuning on data has it. */
  prompt: z.string().optional(),
});
const oldRun = z.looseObject({ settings: oldSettings });

/** Whether these are the settings of a ready job with a dialect of its own. */
export function bringsDialect({ promptMax, dialect }: Readonly<Record<string, unknown>>): boolean {
  return typeof promptMax === 'number' && dialect === undefined;
}

async function ofOldRun(folder: string): Promise<KnownPrompt | null> {
  const text = await textAt(join(folder, 'run.json'));
  const found = text === null ? null : oldRun.safeParse(jsonIn(text));
  if (found === null || !found.success) return null;
  const { settings } = found.data;
  const { dialect: set, callFaults: faults, system: file, promptMax, prompt } = settings;
  const asked = {
    tools: null,
    prompt: null,
    ...(faults === undefined ? {} : { callFaults: faults }),
  };
  if (bringsDialect(settings)) return { ...asked, dialect: 'own', system: null, usual: false };
  const dialect = set ?? usualDialect;
  if (file !== '') {
    const system = (await textAt(file))?.trim() ?? null;
    return { ...asked, dialect, system, usual: false, ...(system === null ? { gone: file } : {}) };
  }
  if (promptMax !== undefined) return { ...asked, dialect, system: null, usual: true };
  // Conversations bring their own, which such a run has not recorded.
  const system = prompt === undefined || prompt === 'policy' ? '' : null;
  return { ...asked, dialect, system, usual: false };
}

async function textAt(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  });
}
