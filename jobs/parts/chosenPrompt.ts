/**
 * How a job prompts its policy: as in the run that the policy is from, unless the settings say otherwise;
 * differences are reported when the job starts, with both texts.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { MillraceError } from '../../base/index.ts';
import { visible } from '../../base/text/index.ts';
import type { Declared } from '../../operators/dialect/index.ts';
import type { JobContext } from '../defineJob.ts';
import {
  type DialectName,
  dialectNames,
  isDialectName,
  systemPrompt,
  usualDialect,
} from '../dialects/dialectOf.ts';
import { isNamedPrompt, namedPrompts, releasedPrompt } from '../dialects/namedPrompts.ts';
import { type KnownPrompt, type PromptRecord, promptIn, recordedPrompt } from './promptRecord.ts';

/** The setting `dialect`. */
export const dialectSetting = z
  .enum(['auto', ...dialectNames])
  .default('auto')
  .describe(
    'how the policy calls tools: with the papers’ tags, or with its own function calling (native); auto = as in the run that it comes from, or tags',
  );

/** The setting `system`. */
export const systemSetting = z
  .string()
  .default('')
  .describe(
    'file with the system prompt; default = one that says how to answer and, for dialect tags, explains tags and tools; none = no system prompt; empty = that of the run that the policy comes from, or default',
  );

/** The setting `prompt`. */
export const promptSetting = z
  .enum(['', ...namedPrompts])
  .default('')
  .describe(
    'system prompt of the papers’ releases by its name, in our words, for dialect tags; empty = as `system` says',
  );

/** The settings of the prompt. */
export interface PromptSettings {
  readonly dialect: 'auto' | DialectName;
  readonly system: string;
  /** A name from `namedPrompts`; any other value is ignored here. */
  readonly prompt?: string | undefined;
}

/** The file that `system` names; '' = none. */
export function systemFile({ system = '' }: Partial<PromptSettings>): string {
  return ['', 'default', 'none'].includes(system) ? '' : resolve(system);
}

/** How the policy was prompted until now, and where. */
export interface AskedBefore {
  readonly prompt: KnownPrompt;
  /** A run or a folder as it was named; null = this run, which is resumed. */
  readonly from: string | null;
}

/** Null = not recorded. */
export async function askedBefore(
  { folder, log, replay }: Pick<JobContext<unknown>, 'folder' | 'log' | 'replay'>,
  policy: { readonly name: string; readonly promptIn: string | null },
): Promise<AskedBefore | null> {
  const goesOn = replay !== undefined || (await log.stats()).some(({ records }) => records > 0);
  if (goesOn) {
    const prompt = await recordedPrompt(folder);
    return prompt === null ? null : { prompt, from: null };
  }
  const prompt = policy.promptIn === null ? null : await promptIn(policy.promptIn);
  return prompt === null ? null : { prompt, from: policy.name };
}

/** What a prompt is built from. */
export interface ChosenPrompt {
  readonly name: DialectName;
  readonly system: string;
}

/** `unset` = the system prompt of an unknown policy, if none is set. Fails with code `POLICY`. */
export async function chosenPrompt(
  { dialect, system, prompt }: PromptSettings,
  before: AskedBefore | null,
  {
    tools,
    unset = 'default',
  }: { readonly tools: readonly Declared[]; readonly unset?: 'default' | 'none' },
): Promise<ChosenPrompt> {
  const known = before?.prompt;
  const own = isDialectName(known?.dialect) ? known.dialect : usualDialect;
  const name = dialect === 'auto' ? own : dialect;
  const usual = (): string => systemPrompt(name, tools);
  if (isNamedPrompt(prompt))
    return { name, system: releasedPrompt(prompt, { name, system, tools }) };
  switch (system) {
    case 'none':
      return { name, system: '' };
    case 'default':
      return { name, system: usual() };
    case '':
      break;
    default:
      return { name, system: (await readFile(system, 'utf8')).trim() };
  }
  if (known?.gone !== undefined) throw gone(before?.from ?? '', known.gone);
  if (known?.usual) {
    const same = known.dialect === name && known.tools !== null && sameTools(known.tools, tools);
    return { name, system: same ? known.system! : usual() };
  }
  if (known?.system == null) return { name, system: unset === 'none' ? '' : usual() };
  return { name, system: known.system };
}

function gone(run: string, file: string): MillraceError {
  return new MillraceError(
    'POLICY',
    `the system prompt of ${run} was in ${file}, which no longer exists: restore it, or choose another (system=FILE, default or none)`,
    { context: { file } },
  );
}

/**
 * Prints how the prompt differs from the earlier one, if that is known. Calls `prompted` with the prompt
 * first: it ends a start that only wants to know the prompt.
 */
export function sayPrompt(
  { print, prompted, replay }: Pick<JobContext<unknown>, 'print' | 'prompted' | 'replay'>,
  before: AskedBefore | null,
  now: PromptRecord,
): void {
  prompted?.(now);
  if (replay !== undefined || before === null) return;
  for (const line of promptLines(before, now)) print(line);
}

/** Compares a prompt with the previous one, for people; empty for a resumed run without changes. */
export function promptLines({ prompt, from }: AskedBefore, now: PromptRecord): readonly string[] {
  const differences = [
    ...(prompt.dialect === now.dialect
      ? []
      : [`  dialect: ${prompt.dialect} there, ${now.dialect} here`]),
    ...toolLines(prompt.tools, now.tools),
    ...systemLines(prompt, now),
  ];
  const parts = differences.length > 1 ? differences : [...differences, ...wholeLines(prompt, now)];
  if (parts.length === 0)
    return from === null ? [] : [`using the prompt of ${from}: ${inWords(now)}`];
  const where = from === null ? 'before in this run' : `in ${from}`;
  return [
    `the policy's prompt differs from that ${where} (--show-prompt prints the whole prompt):`,
    ...parts,
  ];
}

function inWords({ dialect, system }: PromptRecord): string {
  const said =
    system === null ? '' : system === '' ? ', no system prompt' : `, system prompt ${cut(system)}`;
  return `dialect ${dialect}${said}`;
}

function toolLines(was: PromptRecord['tools'], now: PromptRecord['tools']): readonly string[] {
  if (was === null || now === null || sameTools(was, now)) return [];
  const names = (tools: readonly Declared[]): string =>
    tools.map(({ name }) => visible(name)).join(', ') || 'none';
  const changed =
    names(was) === names(now) ? `${names(now)}, with different descriptions` : names(now);
  return [`  tools: ${names(was)} there; ${changed} here`];
}

function systemLines(
  { system: was, usual }: KnownPrompt,
  { system: now }: PromptRecord,
): readonly string[] {
  // An older run's text follows from its tools.
  if (was === now || (was === null && usual)) return [];
  if (was === null) return [`  system prompt there: unknown or not unique; here: ${cut(now!)}`];
  // The prompt of a job's own dialect is compared as a whole.
  return now === null ? [] : bothLines('system prompt', was, now);
}

/** The whole prompts, if everything with a name is the same. */
function wholeLines(
  { prompt: was }: PromptRecord,
  { prompt: now }: PromptRecord,
): readonly string[] {
  if (was === null || now === null || was === now) return [];
  return bothLines('prompt', was, now);
}

/** The first line of each that the other lacks. */
export function bothLines(
  what: string,
  was: string,
  now: string,
  [there, here]: readonly [string, string] = ['there', 'here'],
): readonly string[] {
  const [before, after] = [was.split('\n'), now.split('\n')];
  const at = before.findIndex((line, i) => line !== after[i]);
  const place = at < 0 ? before.length : at;
  const line = place === 0 || was === '' || now === '' ? '' : `, line ${place + 1}`;
  return [
    `  ${what} ${there}${line}: ${was === '' ? 'none' : cut(before[place] ?? '')}`,
    `  ${what} ${here}${line}: ${now === '' ? 'none' : cut(after[place] ?? '')}`,
  ];
}

/** Limit of characters shown of a line. */
const CHARACTERS_MAX = 100;

/** The first line, shortened. */
function cut(text: string): string {
  const [line = ''] = text.split('\n');
  const shown = line.length > CHARACTERS_MAX ? `${line.slice(0, CHARACTERS_MAX)}…` : line;
  return `"${visible(shown)}"`;
}

function sameTools(a: readonly Declared[], b: readonly Declared[]): boolean {
  const plain = (tools: readonly Declared[]): unknown =>
    JSON.parse(JSON.stringify(tools.map(declarationOf)));
  return isDeepStrictEqual(plain(a), plain(b));
}

function declarationOf({ name, about, parameters }: Declared): Declared {
  return { name, about, ...(parameters === undefined ? {} : { parameters }) };
}
