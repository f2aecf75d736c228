/**
 * A library of tools as a file: JSON Lines, one OpenAI function a line, bare or as `{"type": "function",
 * "function": {…}}`; ToolBench's corpus (`.tsv`); or RestBench's specification (`.json`). Reading stops at
 * the first line that is not a function, with its file, line and field.
 */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { ToolDoc } from '../../../base/functions/index.ts';
import { MillraceError, messageOf, systemMessage } from '../../../base/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import { readRestBench } from './readRestBench.ts';
import { readToolBench } from './readToolBench.ts';

const property = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
});

const toolFunction = z.object({
  name: z
    .string()
    .regex(
      /^[^\s<>"]{1,64}$/,
      'must have 1 to 64 characters, without blanks, <, > and quotation marks',
    ),
  description: z.string(),
  parameters: z
    .looseObject({
      type: z.literal('object'),
      properties: z.record(z.string(), property),
      required: z.array(z.string()).optional(),
    })
    .default({ type: 'object', properties: {} }),
});

/** All functions of a file, in its order. Rejects with code `TOOL_LIBRARY`. */
export async function readLibrary(file: string): Promise<readonly ToolDoc[]> {
  const docs = new Map<string, ToolDoc>();
  let number = 0;
  try {
    const released = await releasedLibrary(file);
    for (const doc of released ?? []) docs.set(doc.name, doc);
    if (released !== null && docs.size > 0) return [...docs.values()];
    const lines = createInterface({
      input: createReadStream(file, 'utf8'),
      crlfDelay: Number.POSITIVE_INFINITY,
    });
    for await (const text of lines) {
      number += 1;
      if (text.trim() === '') continue;
      const doc = parseFunction(text.replace(/^\uFEFF/, ''), file, number);
      if (docs.has(doc.name)) {
        throw wrong(
          file,
          number,
          'name',
          `${JSON.stringify(doc.name)} is defined on an earlier line; give each function its own name`,
        );
      }
      docs.set(doc.name, doc);
    }
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new MillraceError(
      'TOOL_LIBRARY',
      `${file} cannot be read: ${systemMessage(error) ?? messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
  if (docs.size === 0) {
    throw new MillraceError(
      'TOOL_LIBRARY',
      `${file} has no functions: write one per line, {"name": …, "description": …, "parameters": {…}}`,
    );
  }
  return [...docs.values()];
}

/** A library in a form of the benchmarks; null = the file is not in one. */
async function releasedLibrary(file: string): Promise<readonly ToolDoc[] | null> {
  const fault = (place: string, field: string, reason: string) =>
    new MillraceError('TOOL_LIBRARY', `${file}${place}: field "${field}": ${reason}`, {
      context: { file, field },
    });
  switch (extname(file).toLowerCase()) {
    case '.tsv':
      return readToolBench(file, (row, field, reason) => fault(`, row ${row}`, field, reason));
    case '.json':
      return readRestBench(jsonIn(await readFile(file, 'utf8')), (field, reason) =>
        fault('', field, reason),
      );
    default:
      return null;
  }
}

/** One line as a function. Throws with code `TOOL_LIBRARY`. */
export function parseFunction(text: string, file: string, number: number): ToolDoc {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw wrong(file, number, '', `not JSON (${messageOf(error)})`);
  }
  const doc = functionOf(value);
  if ('reason' in doc) throw wrong(file, number, doc.field, doc.reason);
  return doc;
}

/** What is wrong with a value that is not a function; `field` is empty if it is the whole value. */
interface Fault {
  readonly field: string;
  readonly reason: string;
}

/** A value as a function, or why it is not one. */
export function functionOf(value: unknown): ToolDoc | Fault {
  const wrapped = z.object({ type: z.literal('function'), function: z.unknown() }).safeParse(value);
  const read = toolFunction.safeParse(wrapped.success ? wrapped.data.function : value);
  if (!read.success) {
    const [issue] = read.error.issues;
    return { field: issue!.path.join('.'), reason: issue!.message };
  }
  const { properties, required = [] } = read.data.parameters;
  const unknown = required.find((name) => !(name in properties));
  if (unknown !== undefined) {
    const reason = `${JSON.stringify(unknown)} is not one of the properties`;
    return { field: 'parameters.required', reason };
  }
  return read.data as ToolDoc;
}

function wrong(file: string, number: number, field: string, reason: string): MillraceError {
  const where = field === '' ? '' : `field "${field}": `;
  return new MillraceError(
    'TOOL_LIBRARY',
    `${file}:${number}: ${where}${reason}. Each line is one function: {"name": …, "description": …, "parameters": {"type": "object", "properties": {…}, "required": […]}}`,
    { context: { file, line: number, field } },
  );
}
