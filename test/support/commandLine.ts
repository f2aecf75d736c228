/** The command line as a process of its own: from the sources, or as it is built and a user has it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Command {
  readonly process: ChildProcess;
  /** What it has said on stderr so far. */
  readonly said: string;
  /** Its exit code; null when a signal ended it. */
  readonly code: Promise<number | null>;
  readonly ended: Promise<Ended>;
  /** Sends it a signal, once, as soon as what it said on stderr matches. */
  signalAt(said: RegExp, signal: NodeJS.Signals): Command;
}

/** `millrace …`, from the sources, which jobs of the tests import too. */
export function millrace(...args: readonly string[]): Command {
  return started(['--import', 'tsx', 'cli/main.ts', ...args], ROOT);
}

/** `millrace …`, as it is built, typed in the folder `cwd`. */
export function builtMillrace(cwd: string, ...args: readonly string[]): Command {
  return started([built(), ...args], cwd);
}

/** A command line at `script`, typed in the folder `cwd`. */
export function runOf(script: string, cwd: string, ...args: readonly string[]): Promise<Ended> {
  return started([script, ...args], cwd).ended;
}

/** `--set key=value` for each. */
export function sets(settings: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
}

function started(args: readonly string[], cwd: string): Command {
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, out, err }));
  });
  return {
    process: child,
    get said() {
      return err;
    },
    code: ended.then(({ code }) => code),
    ended,
    signalAt(said, signal) {
      const hear = (): void => {
        if (!said.test(err)) return;
        child.stderr.off('data', hear);
        child.kill(signal);
      };
      child.stderr.on('data', hear);
      return this;
    },
  };
}

let checked: string | null = null;

/** What `npm run build` makes of cli/main.ts. Fails if sources are newer: old code would be tested. */
export function built(): string {
  checked ??= newestBuild();
  return checked;
}

function newestBuild(): string {
  const { include } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.build.json'), 'utf8'));
  const changedMs = (file: string): number =>
    statSync(join(ROOT, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const builtMs = changedMs('dist/.tsbuildinfo');
  const newer = (include as readonly string[])
    .filter((folder) => !folder.includes('*'))
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(folder, `${name}`)),
    )
    .find((file) => file.endsWith('.ts') && changedMs(file) > builtMs);
  if (newer !== undefined) throw new Error(`${newer} is newer than dist/: run npm run build`);
  return join(ROOT, 'dist/cli/main.js');
}
