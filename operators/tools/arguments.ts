/**
 * Whether a call's arguments fit the schema of its function. The messages are our own and stable: a policy
 * reads them, and a record keeps them.
 */
import { z } from 'zod';
import type { ToolDoc } from '../../base/functions/index.ts';

type Arguments = Readonly<Record<string, unknown>>;

/**
 * Checks against the schema of the function; null = they fit. For an unreadable schema, checks only the
 * required arguments.
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

/** Made once per schema; null for one with nothing to check. */
function checkerOf(schema: object): z.ZodType | null {
  const known = checkers.get(schema);
  if (known !== undefined) return known;
  let made: z.ZodType | null = null;
  try {
    made = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch {
    // A library may say more about its parameters than JSON Schema knows.
  }
  checkers.set(schema, made);
  return made;
}
