/**
 * A settings file: YAML or JSON (which is YAML too), a tree of the settings that `--set` sets one by one.
 *
 * Every value knows its line, so that errors name file, line and field. Keys that begin with `$` are for
 * people and tools (`--show-settings=json` writes one) and set nothing.
 */
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  Lexer,
  LineCounter,
  type Node,
  parseDocument,
} from 'yaml';
import type { z } from 'zod';
import { withinDeadline } from '../base/index.ts';
import { usageError } from './failure.ts';
import type { Settings } from './settingFields.ts';
import { type Setting, settingsOf } from './settings.ts';

/** Larger than any file that a user writes. */
const charactersMax = 100_000;
/**
 * Deeper than any settings; far from where the stack of the YAML library's recursion ends (see `nestsDeep`).
 */
const nestingMax = 20;

/** The settings in a file. Fails with code `USAGE`, with file and line, if it cannot be read as settings. */
export async function readSettingsFile(
  file: string,
  schema: z.ZodType,
  cwd: string,
): Promise<Setting[]> {
  const path = resolve(cwd, file);
  const there = await stat(path).catch(() => null);
  if ((there?.size ?? 0) > 4 * charactersMax) throw tooMuch(file, 'is too long');
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const code = (error as NodeJS.ErrnoException).code;
    throw usageError(`cannot read the settings file ${file} (${code}); check the path`);
  });
  return parseSettings(text, file, schema);
}

/** A YAML text as its top-level keys, whatever they are; fails as `readSettingsFile` does. */
export function settingsTree(text: string, file: string): Settings {
  let tree: Settings = {};
  const keep = (whole: Settings): Setting[] => {
    tree = whole;
    return [];
  };
  withinDeadline(
    () => settingsIn(text, file, keep),
    () => tooMuch(file, 'takes too long to read'),
  );
  return tree;
}

/** Like `readSettingsFile`, for a text; `file` is its name. */
export function parseSettings(text: string, file: string, schema: z.ZodType): Setting[] {
  if (text.length > charactersMax) throw tooMuch(file, 'is too long');
  try {
    return withinDeadline(
      () => settingsIn(text, file, schema),
      () => tooMuch(file, 'takes too long to read'),
    );
  } catch (error) {
    // for aliases that multiply (the library says "resource exhaustion")
    if (error instanceof ReferenceError) throw tooMuch(file, 'repeats its aliases too often');
    throw error;
  }
}

function tooMuch(file: string, what: string): Error {
  return usageError(`${file} ${what} for a settings file`);
}

/**
 * Whether collections are nested deeper than `nestingMax`, as far as brackets and the marks of
 * a line show (indentation cannot nest deep in so short a file). Asked before anything that recurses: V8 ends
 * the whole process where a regular expression is compiled on a stack that is nearly full, so an overflow
 * cannot be caught with certainty.
 */
function nestsDeep(text: string): boolean {
  let brackets = 0;
  let marks = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') brackets++;
    else if (token === ']' || token === '}') brackets--;
    else if (token === '-' || token === '?') marks++;
    else if (token[0] === '\n' || token[0] === '\r') marks = 0;
    if (brackets + marks > nestingMax) return true;
  }
  return false;
}

function settingsIn(
  text: string,
  file: string,
  schema: z.ZodType | ((tree: Settings) => Setting[]),
): Setting[] {
  if (nestsDeep(text)) throw tooMuch(file, 'nests too deep');
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const fault = document.errors[0];
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  if (fault !== undefined) {
    throw usageError(`${file}:${lineAt(fault.pos[0])}: not valid YAML: ${fault.message}`);
  }
  const root = document.contents;
  if (root === null) return [];
  if (!isMap(root)) {
    const line = lineAt(root.range?.[0] ?? 0);
    throw usageError(
      `${file}:${line}: a settings file consists of key: value lines, for example lr: 0.000001`,
    );
  }
  const loop = loopIn(root);
  if (loop !== null)
    throw usageError(`${file}:${lineAt(loop)}: an alias refers to a collection that contains it`);
  const lineOf = (path: readonly string[]): number => lineAt(placeOf(root, path));
  const tree = Object.entries(document.toJS() as Settings).filter(([name]) => name[0] !== '$');
  if (tree.some(([name]) => name.split('.').length > nestingMax)) {
    throw tooMuch(file, 'nests too deep');
  }
  if (typeof schema === 'function') return schema(Object.fromEntries(tree));
  return settingsOf(schema, dotted(tree), (path) => `${file}:${lineOf(path)}`);
}

/** Where an alias is within the collection that its anchor names; null if none does. */
function loopIn(root: Node): number | null {
  const open: string[] = [];
  let found: number | null = null;
  const look = (node: unknown): void => {
    if (found !== null) return;
    if (isAlias(node) && open.includes(node.source)) found = node.range?.[0] ?? 0;
    if (isPair(node)) {
      look(node.key);
      look(node.value);
    }
    if (!isCollection(node)) return;
    const { anchor = '' } = node;
    if (anchor !== '') open.push(anchor);
    for (const item of node.items) look(item);
    if (anchor !== '') open.pop();
  };
  look(root);
  return found;
}

/** `engine.urls: …` on one line is `engine:` with `urls: …` in it. */
function dotted(entries: readonly (readonly [string, unknown])[]): Settings {
  const tree: Record<string, unknown> = Object.create(null);
  for (const [name, value] of entries) {
    const path = name.split('.');
    let group = tree;
    for (const part of path.slice(0, -1)) {
      const inner = group[part];
      group[part] = typeof inner === 'object' && inner !== null ? inner : Object.create(null);
      group = group[part] as Record<string, unknown>;
    }
    const last = path.at(-1)!;
    const before = group[last];
    const both = [before, value].every((one) => typeof one === 'object' && one !== null);
    group[last] = both ? { ...(before as object), ...(value as object) } : value;
  }
  return tree;
}

/** Where the value of a path begins, or that of the innermost existing group of it. */
function placeOf(root: Node, path: readonly string[]): number {
  let node: Node = root;
  let place = 0;
  for (let from = 0; from < path.length && isMap(node); ) {
    const found = longestKey(node, path.slice(from));
    if (found === null) break;
    place = found.place;
    from += found.parts;
    if (!isCollection(found.value) && !isScalar(found.value)) break;
    node = found.value;
  }
  return place;
}

/** The item of a map whose key is the beginning of a path; a key may hold several parts with dots between. */
function longestKey(
  map: Node & { readonly items: readonly { readonly key: unknown; readonly value: unknown }[] },
  path: readonly string[],
): { readonly parts: number; readonly place: number; readonly value: unknown } | null {
  for (let parts = path.length; parts > 0; parts--) {
    const name = path.slice(0, parts).join('.');
    const item = map.items.find(({ key }) => isScalar(key) && String(key.value) === name);
    if (item !== undefined && isScalar(item.key)) {
      return { parts, place: item.key.range?.[0] ?? 0, value: item.value };
    }
  }
  return null;
}
