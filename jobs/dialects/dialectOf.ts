/**
 * Builds a dialect by name, from the tokenizer and the chat template in a policy's folder.
 */
import { MillraceError } from '../../base/index.ts';
import type { CallFaults, Declared, Dialect } from '../../operators/dialect/index.ts';
import * as all from './all.ts';
import type { DialectKind } from './dialectKind.ts';

/** One of `dialectNames`. */
export type DialectName = keyof typeof all;
/** The dialects in the package. */
export const dialectNames = Object.keys(all) as readonly DialectName[];
const kinds: Readonly<Record<DialectName, DialectKind>> = all;

/** The dialect of an unknown policy. */
export const usualDialect: DialectName = 'tags';
/** The dialect of policies that call functions. */
export const functionDialect: DialectName = 'native';

export function isDialectName(name: string | undefined): name is DialectName {
  return (dialectNames as readonly (string | undefined)[]).includes(name);
}

/** Whether a call is a function with arguments. */
export function callsFunctions(name: DialectName): boolean {
  return kinds[name].callsFunctions;
}

/** The system prompt if a job gives none. */
export function systemPrompt(name: DialectName, tools: readonly Declared[]): string {
  return kinds[name].systemPrompt(tools);
}

/** What a dialect is built from. */
export interface DialectOptions {
  readonly name: DialectName;
  /** Folder with `tokenizer.json` and a chat template. */
  readonly folder: string;
  readonly tools: readonly Declared[];
  /** The system prompt; none if left out or empty. */
  readonly system?: string;
  /** What to do about invalid calls, if calls are functions; `answered` if left out. */
  readonly faults?: CallFaults;
}

/**
 * Rejects with `TOKENIZER`, `CHAT_TEMPLATE`, `DIALECT`, or `USAGE` for options that only other dialects have.
 */
export async function dialectOf(options: DialectOptions): Promise<Dialect> {
  const { name, folder, tools, system = '', faults = 'answered' } = options;
  if (faults === 'ends' && !callsFunctions(name)) {
    throw new MillraceError('USAGE', `callFaults=ends needs dialect=${functionDialect}`);
  }
  const dialect = await kinds[name].open({ folder, tools, system, faults });
  const asked = { system, tools: tools.map(declarationOf) };
  return {
    ...dialect,
    asked: callsFunctions(name) ? { ...asked, callFaults: faults } : asked,
  };
}

/** What the policy is told about a tool. */
function declarationOf({ name, about, parameters }: Declared): Declared {
  return { name, about, ...(parameters === undefined ? {} : { parameters }) };
}
