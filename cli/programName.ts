/**
 * How this program is called here, so that a printed command can be typed as it is.
 *
 * Messages anywhere in the code say `millrace doctor RUN`; on the way to the user (`calledHere` for stderr,
 * `tell` for stdout) it becomes what works here. Records and `--json` keep the original.
 */
import { basename, delimiter, dirname, join, relative, resolve, sep } from 'node:path';
import { commandNames } from './commands/names.ts';
import type { Io } from './io.ts';

/** How the process was started. */
export interface Started {
  /** The script that Node was given (`process.argv[1]`), absolute. */
  readonly script: string;
  /** Where the next command will be typed. */
  readonly cwd: string;
  /** The variable PATH. */
  readonly path: string;
}

/**
 * `millrace` if it is installed for the whole system, `npx millrace` in a project that has it and in a
 * clone of its repository, the script by its path anywhere else.
 */
export function programName({ script, cwd, path }: Started): string {
  if (script.includes(join('node_modules', '.bin') + sep)) return 'npx millrace';
  const name = basename(script).replace(/\.(cmd|ps1|exe)$/, '');
  const isOnPath = path.split(delimiter).some((folder) => resolve(folder) === dirname(script));
  if (name === 'millrace' && isOnPath) return 'millrace';
  // <package>/dist/cli/main.js
  const home = resolve(script, '..', '..', '..');
  const project = basename(dirname(home)) === 'node_modules' ? resolve(home, '..', '..') : home;
  if (cwd === project || cwd.startsWith(project + sep)) return 'npx millrace';
  return `node ${quoted(relative(cwd, script))}`;
}

function quoted(path: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(path) ? path : `'${path}'`;
}

const TYPED = new RegExp(
  `(?<![\\w./-]|npx )millrace (?=(?:${[...commandNames, 'help'].join('|')})\\b)`,
  'g',
);

/** The text with its commands as they are typed here. */
export function asTyped(text: string, { program }: Pick<Io, 'program'>): string {
  return text.replaceAll(TYPED, () => `${program} `);
}

/** Text for a user, on stdout. */
export function tell(io: Io, text: string): Promise<void> {
  return io.out(asTyped(text, io));
}

/** The same process, with commands on stderr as they are typed here. */
export function calledHere(io: Io): Io {
  return { ...io, err: (line) => io.err(asTyped(line, io)) };
}
