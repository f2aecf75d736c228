/**
 * How this program is called here, so that a printed command can be typed as it is: its name, and `--runs` if
 * this one was given another folder.
 *
 * Messages anywhere in the code say `millrace doctor RUN`; on the way to the user (`calledHere` for stderr,
 * `tell` for stdout) it becomes what works here. Records and `--json` keep the original.
 */
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { shellWord } from '../base/text/index.ts';
import { RUNS } from './command.ts';
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
  return `node ${shellWord(relative(cwd, script))}`;
}

/** The value of `--runs`, if it is not the folder that is used anyway. */
export function runsElsewhere(args: readonly string[], cwd: string): string | undefined {
  const at = args.findLastIndex((arg) => arg === '--runs' || arg.startsWith('--runs='));
  const given = args[at] === '--runs' ? args[at + 1] : args[at]?.slice('--runs='.length);
  if (given === undefined || resolve(cwd, given) === resolve(cwd, RUNS)) return undefined;
  const inside = relative(cwd, given);
  return isAbsolute(given) && !/^(\.\.|$)/.test(inside) ? inside : given;
}

/** Commands that look for a named run in the folder of runs. */
const ofRuns: ReadonlySet<string> = new Set([
  ...['tap', 'export', 'mirror', 'pack', 'top', 'view', 'set', 'pause', 'resume', 'stop'],
  ...['metrics', 'topics', 'report', 'replay', 'rewind', 'fork', 'diff', 'doctor'],
  ...['dlq ls', 'dlq show', 'dlq retry'],
]);
/** These do so with `--run`. */
const mayNameRun: ReadonlySet<string> = new Set(['run', 'eval']);

const TYPED = new RegExp(
  `(?<![\\w./-]|npx )millrace (?<name>dlq (?:ls|show|retry)|(?:${[...commandNames, 'help'].join('|')})\\b)(?<rest>(?: [^\`\n;)]*)?)`,
  'g',
);

/** The text with its commands as typed here. */
export function asTyped(text: string, here: Pick<Io, 'program' | 'runs'>): string {
  const { program, runs } = here;
  return text.replaceAll(TYPED, (_, name: string, rest: string) => {
    const namesRun = ofRuns.has(name)
      ? rest.trim() !== ''
      : mayNameRun.has(name) && / --run /.test(rest);
    const isGiven = rest.includes(' --runs ');
    const where = runs !== undefined && namesRun && !isGiven ? ` --runs ${shellWord(runs)}` : '';
    return `${program} ${name}${where}${asTyped(rest, here)}`;
  });
}

/** Text for a user, on stdout. */
export function tell(io: Io, text: string): Promise<void> {
  return io.out(asTyped(text, io));
}

/** Starts this command line as a process whose stderr shows commands as typed here. */
export function calledHere(process: Io, args: readonly string[]): Io {
  const runs = runsElsewhere(args, process.cwd);
  const io = runs === undefined ? process : { ...process, runs };
  return { ...io, err: (line) => io.err(asTyped(line, io)) };
}
