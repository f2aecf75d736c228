/**
 * Environments of servers, kept in the user's cache and made once: `python -m venv`, then every package of
 * the kind's list in the version that is there. Nothing of it is part of `npm ci`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kinds, type ServerKind } from './kinds.ts';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Where servers keep their environments, checkpoints and logs. */
export function serversFolder(): string {
  const base =
    process.env.MILLRACE_CACHE ??
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'millrace');
  return join(base, 'servers');
}

export function environmentOf(kind: string): string {
  return join(serversFolder(), kind, 'env');
}

/** Written last; says which list was installed. */
const marker = (kind: string): string => join(environmentOf(kind), 'installed');

/** What is installed, and what is done to it. */
async function listed({ requirements, unpinned }: ServerKind): Promise<string> {
  return `${await readFile(join(here, 'requirements', requirements), 'utf8')}${unpinned}`;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

export async function isInstalled(kind: string): Promise<boolean> {
  const said = await readFile(marker(kind), 'utf8').catch(() => '');
  return said.trim() === digest(await listed(kinds[kind]!));
}

const WAIT_MS = 2_000;

/**
 * Makes the environment if it does not exist; says what it does by `tell`. One process at a time: others
 * wait for it.
 */
export async function install(kind: string, tell: (line: string) => void): Promise<void> {
  const wanted = kinds[kind]!;
  for (const other of wanted.sees) await install(other, tell);
  if (await isInstalled(kind)) return;
  const lock = join(serversFolder(), kind, 'installing');
  await mkdir(join(serversFolder(), kind), { recursive: true });
  for (let announced = false; !(await locked(lock)); announced = true) {
    if (!announced) tell(`another process is installing ${wanted.name}; waiting for it (${lock})`);
    await new Promise((done) => setTimeout(done, WAIT_MS));
  }
  try {
    if (!(await isInstalled(kind))) await installed(kind, wanted, tell);
  } finally {
    await rm(lock, { force: true });
  }
}

/** A file with the number of the process that has it; that of one which is gone is taken over. */
async function locked(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const holder = Number(await readFile(lock, 'utf8').catch(() => '0'));
    if (holder > 0 && isRunning(holder)) return false;
    await rm(lock, { force: true });
    return false;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function installed(
  kind: string,
  wanted: ServerKind,
  tell: (line: string) => void,
): Promise<void> {
  const environment = environmentOf(kind);
  const log = join(serversFolder(), kind, 'install.log');
  tell(
    `installing ${wanted.name} into ${environment}: about ${wanted.gigabytes} GB, some minutes; progress is in ${log}`,
  );
  const python = findPython(wanted.python);
  await rm(environment, { recursive: true, force: true });
  await run([python, '-m', 'venv', environment], log);
  const own = join(environment, 'bin', 'python');
  const pip = [own, '-m', 'pip', 'install', '--disable-pip-version-check', '--no-deps'];
  await run([...pip, '-r', join(here, 'requirements', wanted.requirements)], log);
  await finish(kind, wanted, own);
  tell(`installed ${wanted.name}`);
}

async function finish(kind: string, wanted: ServerKind, python: string): Promise<void> {
  const packages = packagesOf(python);
  const seen = wanted.sees.map((other) => packagesOf(join(environmentOf(other), 'bin', 'python')));
  if (seen.length > 0) await writeFile(join(packages, 'seen.pth'), `${seen.join('\n')}\n`);
  for (const stub of wanted.stubs)
    await cp(join(here, 'stubs', stub), join(packages, stub), { recursive: true });
  for (const [from, to] of Object.entries(wanted.alsoKnownAs)) {
    await cp(join(packages, from), join(packages, to), { recursive: true });
    const file = join(packages, to, 'METADATA');
    const [, name, version] = /^(.+?)-(.+)\.dist-info$/.exec(to)!;
    const text = await readFile(file, 'utf8');
    const renamed = text
      .replace(/^Name: .*$/m, `Name: ${name}`)
      .replace(/^Version: .*$/m, `Version: ${version}`);
    await writeFile(file, renamed);
  }
  if (wanted.unpinned !== '') await unpin(join(packages, wanted.unpinned));
  await writeFile(marker(kind), `${digest(await listed(wanted))}\n`);
}

async function unpin(folder: string): Promise<void> {
  const files = await readdir(folder, { recursive: true });
  for (const file of files.filter((each) => each.endsWith('.py'))) {
    const text = await readFile(join(folder, file), 'utf8');
    const plain = text
      .replaceAll('pin_memory=True', 'pin_memory=False')
      .replaceAll('.pin_memory()', '');
    if (plain !== text) await writeFile(join(folder, file), plain);
  }
}

function packagesOf(python: string): string {
  const asked = 'import sysconfig; print(sysconfig.get_paths()["purelib"])';
  return spawnSync(python, ['-c', asked], { encoding: 'utf8' }).stdout.trim();
}

/** Python of this version: `MILLRACE_SERVER_PYTHON`, `python3.12`, or one of pyenv's. */
function findPython(version: string): string {
  const pyenv = join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions');
  const listed = spawnSync('pyenv', ['versions', '--bare'], { encoding: 'utf8' }).stdout ?? '';
  const theirs = listed
    .split('\n')
    .filter((each) => each.startsWith(`${version}.`))
    .map((each) => join(pyenv, each, 'bin', 'python'));
  const own = process.env.MILLRACE_SERVER_PYTHON;
  const candidates = [...(own === undefined ? [] : [own]), `python${version}`, ...theirs];
  const asked = 'import sys; print("%d.%d" % sys.version_info[:2])';
  const found = candidates.find(
    (each) => spawnSync(each, ['-c', asked], { encoding: 'utf8' }).stdout?.trim() === version,
  );
  if (found !== undefined) return found;
  throw new Error(
    `Python ${version} not found (looked for ${candidates.join(', ')}): install it, or set MILLRACE_SERVER_PYTHON`,
  );
}

/** Runs to its end; its output goes to the log. */
async function run(command: readonly string[], log: string): Promise<void> {
  const [program, ...args] = command as [string, ...string[]];
  const file = await open(log, 'a');
  try {
    const child = spawn(program, args, { stdio: ['ignore', file.fd, file.fd] });
    const code = await new Promise<number | string>((resolve) => {
      child.on('error', (error) => resolve(error.message));
      child.on('exit', (status, signal) => resolve(status ?? signal ?? 'killed'));
    });
    if (code !== 0) throw new Error(`'${command.join(' ')}' failed (${code}); see ${log}`);
  } finally {
    await file.close();
  }
}
