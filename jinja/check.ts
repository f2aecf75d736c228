/** What Jinja detects while compiling: unknown filters and tests, if they are certain to be needed. */
import { fail } from './failure.ts';
import { FILTERS } from './filters.ts';
import { TESTS } from './tests.ts';

/** Kinds with parts that may never run: an unknown name there fails when it is reached. */
const MAYBE = new Set(['if', 'condition']);
/** Kinds whose bodies are checked on their own. */
const APART = new Set([
  'for',
  'macro',
  'callBlock',
  'filterBlock',
  'with',
  'generation',
  'setBlock',
]);

/** Fail if `node`, a tree or a list of trees, has an unknown name. */
export function checkNames(node: unknown, maybe = false): void {
  if (Array.isArray(node)) for (const each of node) checkNames(each, maybe);
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return;
  const { kind, name, line } = node as { kind?: string; name?: string; line?: number };
  const known = kind === 'filter' ? FILTERS : kind === 'test' ? TESTS : null;
  if (known !== null && !maybe && !Object.hasOwn(known, name ?? ''))
    fail(`No ${kind} named '${name}'.`, line);
  const inside = MAYBE.has(kind ?? '') || (maybe && !APART.has(kind ?? ''));
  for (const each of Object.values(node)) checkNames(each, inside);
}
