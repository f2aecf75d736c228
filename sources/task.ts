/**
 * What a question has besides its answers, from the field `task` of a row: gold calls, functions of its own,
 * attachments, an environment.
 */
import { z } from 'zod';
import { jsonIn } from '../base/text/index.ts';
import type { Gold, Task } from '../topics/index.ts';

/** A task without any part. */
export const noTask: Task = { gold: null, functions: [], program: '', files: [], world: '' };

const asText = z
  .union([z.string(), z.looseObject({})])
  .transform((one) => (typeof one === 'string' ? one : JSON.stringify(one)));

/** A name, not a path: attachments are in one folder. */
const fileName = z
  .string()
  .regex(/^[^/\\\0]+$/, 'must be the name of a file, without a folder')
  .refine((name) => name !== '.' && name !== '..', 'must be the name of a file');

const call = z.object({ name: z.string().min(1), arguments: z.record(z.string(), z.unknown()) });

const gold = z
  .object({
    kind: z.enum(['tools', 'endpoints', 'calls', 'answers', 'patterns']),
    items: z.array(asText).min(1),
  })
  .superRefine(({ kind, items }, context) => {
    for (const [i, item] of items.entries()) {
      const wrong = itemFault(kind, item);
      if (wrong !== null) context.addIssue({ code: 'custom', path: ['items', i], message: wrong });
    }
  });

const task = z.strictObject({
  gold: gold.nullable().default(null),
  functions: z.array(asText).default([]),
  program: z.string().default(''),
  files: z.array(fileName).default([]),
  world: asText.default(''),
});

/** A task, or what is wrong with it; `field` is `task` and the path below it. */
export function readTask(
  given: unknown,
): { readonly task: Task } | { readonly field: string; readonly reason: string } {
  const value = typeof given === 'string' ? jsonIn(given) : given;
  const read = task.safeParse(value);
  if (read.success) return { task: read.data };
  const [issue] = read.error.issues;
  return { field: ['task', ...issue!.path].join('.'), reason: issue!.message };
}

function itemFault(kind: Gold['kind'], item: string): string | null {
  if (kind === 'calls') {
    return call.safeParse(jsonIn(item)).success
      ? null
      : 'must be a call: {"name": …, "arguments": {…}}';
  }
  if (kind !== 'patterns') return item.trim() === '' ? 'is empty' : null;
  try {
    new RegExp(item);
    return null;
  } catch (error) {
    return `must be a regular expression (${(error as Error).message})`;
  }
}
