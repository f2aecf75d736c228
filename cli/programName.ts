/** How this program is called where it stands, so that a command that is printed can be typed as it is. */
import { basename, delimiter, dirname, join, relative, resolve, sep } from 'node:path';

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
 * `millrace` where it is installed for the whole system, `npx millrace` in a project that has it and in a clone of its
 * repository, the script by its path anywhere else.
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
