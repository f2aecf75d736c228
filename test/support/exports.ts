/**
 * What a module exports, read from its text: names, where each is declared, and whether a comment says what
 * it is.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');

export interface Exported {
  readonly name: string;
  /** Where it is declared. */
  readonly file: string;
  readonly documented: boolean;
}

const DECLARED =
  /^(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|class|interface|type|enum) (\w+)/gm;
const ALL = /^export (?:type )?\* from '([^']+)';/gm;
const GROUP = /^export \* as (\w+) from '([^']+)';/gm;
const SOME = /^export (?:type )?\{([^}]+)\} from '([^']+)';/gm;
/** `export { a };`, of what the file imports: found with the import. */
const IMPORTED = /^export (?:type )?\{([^}]+)\};/gm;
const IMPORT = /^import (?:type )?\{([^}]+)\} from '(\.[^']+)';/gm;

/** Of `file`, a path from the root of the repository. */
export function exportsOf(file: string): readonly Exported[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const beside = (path: string): string => relative(ROOT, resolve(ROOT, dirname(file), path));
  const declared = [...text.matchAll(DECLARED)].map(([, comment, name]) => ({
    name: name as string,
    file,
    documented: comment !== undefined,
  }));
  const all = [...text.matchAll(ALL)].flatMap(([, path]) => exportsOf(beside(path as string)));
  const groups = [...text.matchAll(GROUP)].map(([, name, path]) => ({
    name: name as string,
    file: beside(path as string),
    documented: readFileSync(join(ROOT, beside(path as string)), 'utf8').startsWith('/**'),
  }));
  const some = [...text.matchAll(SOME)].flatMap(([, list, path]) => {
    const there = exportsOf(beside(path as string));
    return namesIn(list as string).map(([name, as]) => {
      const found = there.find((candidate) => candidate.name === name);
      if (found === undefined) throw new Error(`${file} exports ${name}, which ${path} has not`);
      return { ...found, name: as };
    });
  });
  const passedOn = [...text.matchAll(IMPORTED)].flatMap(([, list]) => namesIn(list as string));
  const imported = passedOn.flatMap(([name, as]) =>
    [...text.matchAll(IMPORT)]
      .filter(([, list]) => namesIn(list as string).some(([, here]) => here === name))
      .flatMap(([, , path]) => exportsOf(beside(path as string)))
      .filter((candidate) => candidate.name === name)
      .map((found) => ({ ...found, name: as })),
  );
  return [...declared, ...all, ...groups, ...some, ...imported];
}

/** The pairs of an import or export list: its name there, its name here. */
export function namesIn(list: string): (readonly [string, string])[] {
  return list
    .split(',')
    .map((part) => part.replace(/\btype\b/, '').trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [name, as = name] = part.split(/\s+as\s+/) as [string, string?];
      return [name, as] as const;
    });
}
