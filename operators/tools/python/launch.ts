/**
 * How the sandbox process is started: Node's own limits always, the kernel's if it grants them.
 *
 * Always: an empty environment; the permission model with nothing but the read of pyodide's folder, the `ws`
 * folder that pyodide imports, the packages that it is given and the sandbox's own scripts (no writes,
 * processes, workers, addons); no code from strings, no modules but files. If the kernel allows it, a
 * network namespace with no interface in it, no capabilities, no new privileges, and death together with the
 * parent.
 */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const SCRIPTS = fileURLToPath(new URL('./child/', import.meta.url));
const POLICY = join(SCRIPTS, 'policy.json');

const PRIVILEGES = ['--bounding-set', '-all', '--inh-caps', '-all', '--no-new-privs'];
/** Strongest first; the first one that can start `true` is used. */
const WRAPPERS: readonly (readonly string[])[] = [
  ['unshare', '-rn', 'setpriv', ...PRIVILEGES, '--pdeathsig', 'KILL'],
  ['unshare', '-rn'],
  ['setpriv', '--no-new-privs', '--pdeathsig', 'KILL'],
];
const FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'];

function absolute(command: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, command)).find((path) => existsSync(path));
}

function resolved(wrapper: readonly string[]): readonly string[] | undefined {
  const words = wrapper.map((word) =>
    word === 'unshare' || word === 'setpriv' ? absolute(word) : word,
  );
  return words.every((word) => word !== undefined) ? words : undefined;
}

function starts(wrapper: readonly string[]): boolean {
  const program = absolute('true');
  if (program === undefined) return false;
  const probe = spawnSync(wrapper[0]!, [...wrapper.slice(1), program], {
    env: {},
    stdio: 'ignore',
    timeout: 5000,
  });
  return probe.status === 0;
}

let wrapperFound: readonly string[] | undefined;

/** The wrapper that this kernel allows, probed once per process; empty if it allows none. */
export function kernelWrapper(): readonly string[] {
  wrapperFound ??= WRAPPERS.map(resolved).find((wrapper) => wrapper && starts(wrapper)) ?? [];
  return wrapperFound;
}

/** The folder of the installed pyodide package. */
export function pyodideFolder(): string {
  return dirname(createRequire(import.meta.url).resolve('pyodide/package.json'));
}

/** What the process may read: nothing else on the disk exists for it. */
function readable(script: string, pyodide: string, files: readonly string[]): readonly string[] {
  const ws = dirname(createRequire(join(pyodide, 'package.json')).resolve('ws/package.json'));
  const folders = [SCRIPTS, dirname(script), pyodide, ws].flatMap((folder) => [
    folder,
    realpathSync(folder),
  ]);
  const whole = files.flatMap((file) => [file, realpathSync(file)]);
  return [...new Set([...folders.map((folder) => join(folder, '*')), ...whole])];
}

/** Node 20 only knows the permission model by its first name. */
function permissionFlag(): string {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const named = major > 23 || (major === 23 && minor >= 5) || (major === 22 && minor >= 13);
  return named ? '--permission' : '--experimental-permission';
}

/**
 * Modules come from files alone (`import('data:…')` would be code from a string): Node 20 takes a policy for
 * that, later ones a hook (child/host.mjs).
 */
function policyFlags(): readonly string[] {
  const flag = '--experimental-policy';
  return process.allowedNodeEnvironmentFlags.has(flag) ? [`${flag}=${POLICY}`] : [];
}

/** The arguments of Node that make the sandbox. */
function nodeArguments(script: string, files: readonly string[]): readonly string[] {
  return [
    permissionFlag(),
    ...readable(script, pyodideFolder(), files).map((path) => `--allow-fs-read=${path}`),
    '--disallow-code-generation-from-strings',
    ...policyFlags(),
    '--no-addons',
    '--no-warnings',
    '--max-old-space-size=256',
    '--stack-size=3900',
    script,
  ];
}

/** A process controlled through its standard streams. */
export type SandboxProcess = ChildProcessByStdio<Writable, Readable, Readable>;

export interface LaunchOptions {
  readonly script?: string;
  /** Further files that it may read: packages. */
  readonly files?: readonly string[];
}

/** Starts the sandbox process (or another script in the same sandbox, for the tests). */
export function launch({
  script = join(SCRIPTS, 'main.mjs'),
  files = [],
}: LaunchOptions = {}): SandboxProcess {
  const command = [...kernelWrapper(), process.execPath, ...nodeArguments(script, files)];
  return spawn(command[0]!, command.slice(1), {
    env: {},
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}
