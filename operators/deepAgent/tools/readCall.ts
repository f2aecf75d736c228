/**
 * A call as a policy writes it, `{"name": …, "arguments": {…}}`, and whether it fits the function's schema
 * (DeepAgent §1.6). The messages are our own and stable: a policy reads them, and a record keeps them.
 */
import { z } from 'zod';
import type { ToolDoc } from '../../../base/functions/index.ts';
import type { EpisodeMode } from '../episode.ts';
import { lenientJson } from '../lenientJson.ts';

/** A call that can be made, or why none can; then what is known of it. */
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

/** What a body calls, with what; or why it cannot be read as a call. */
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

/**
 * Against the schema of the function; null = they fit. A schema that cannot be read only checks its required
 * arguments only.
 */
export function argumentFault(
  { name, parameters }: Pick<ToolDoc, 'name' | 'parameters'>,
  given: Arguments,
): string | null {
  const { required = [], properties } = parameters;
  const missing = required.find((key) => !Object.hasOwn(given, key));
  if (missing !== undefined) return `${name} needs the argument ${JSON.stringify(missing)}`;
  for (const [key, schema] of Object.entries(properties)) {
    if (!Object.hasOwn(given, key)) continue;
    const read = checkerOf(schema)?.safeParse(given[key]);
    if (read === undefined || read.success) continue;
    const [issue] = read.error.issues;
    const path = [key, ...issue!.path].join('.');
    return `the argument ${JSON.stringify(path)} of ${name} does not fit: ${issue!.message}`;
  }
  if (parameters.additionalProperties !== false) return null;
  const strange = Object.keys(given).find((key) => !Object.hasOwn(properties, key));
  return strange === undefined ? null : `${name} has no argument ${JSON.stringify(strange)}`;
}

const checkers = new WeakMap<object, z.ZodType | null>();

/** Made once a schema; null for one that says nothing that can be checked. */
function checkerOf(schema: object): z.ZodType | null {
  const known = checkers.get(schema);
  if (known !== undefined) return known;
  let made: z.ZodType | null = null;
  try {
    made = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch {
    // A library may say more of its parameters than JSON Schema knows.
  }
  checkers.set(schema, made);
  return made;
}

function isObject(value: unknown): value is Arguments {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
