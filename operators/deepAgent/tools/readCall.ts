/**
 * A call as a policy writes it, `{"name": …, "arguments": {…}}`, and whether it fits the function's schema
 * (DeepAgent §1.6). The messages are our own and stable: a policy reads them, and a record keeps them.
 */
import type { ToolDoc } from '../../../base/functions/index.ts';
import { argumentFault } from '../../tools/arguments.ts';
import type { EpisodeMode } from '../episode.ts';
import { lenientJson } from '../lenientJson.ts';

/** A call that can be made, or why it cannot, with what is known about it. */
export type ReadCall =
  | { readonly name: string; readonly arguments: Arguments; readonly fault: null }
  | { readonly name: string | null; readonly arguments: Arguments; readonly fault: string };

type Arguments = Readonly<Record<string, unknown>>;

/** Reads a call's body; `docOf` = the function of a name. The reference ignores the schema. */
export function readCall(
  body: string,
  docOf: (name: string) => ToolDoc | undefined,
  mode: EpisodeMode,
): ReadCall {
  const call = writtenCall(body);
  if (typeof call === 'string') return fault(nameIn(body), {}, call);
  const { name, arguments: given } = call;
  const doc = docOf(name);
  if (doc === undefined)
    return fault(name, given, `there is no tool named ${JSON.stringify(name)}`);
  const wrong = mode === 'reference' ? null : argumentFault(doc, given);
  return wrong === null ? { name, arguments: given, fault: null } : fault(name, given, wrong);
}

/** What a body calls and with which arguments; or why it cannot be read as a call. */
export function writtenCall(
  body: string,
): { readonly name: string; readonly arguments: Arguments } | string {
  const value = lenientJson(body);
  if (!isObject(value)) return 'a call is one JSON object with "name" and "arguments"';
  const { name, arguments: given = {} } = value;
  if (typeof name !== 'string') return 'the call has no "name"';
  if (!isObject(given)) return 'the "arguments" are one JSON object';
  return { name, arguments: given };
}

function nameIn(body: string): string | null {
  const value = lenientJson(body);
  return isObject(value) && typeof value.name === 'string' ? value.name : null;
}

function fault(name: string | null, given: Arguments, why: string): ReadCall {
  return { name, arguments: given, fault: why };
}

function isObject(value: unknown): value is Arguments {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
