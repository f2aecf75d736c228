/**
 * Servers in the background: started in a group of processes of their own, waited for until they are ready,
 * and ended as a group. What runs is recorded next to the logs, one file per port.
 */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { environmentOf, serversFolder } from './install.ts';
import { kinds } from './kinds.ts';

/** A server that was started. */
export interface Running {
  readonly kind: string;
  readonly port: number;
  /** Of the first process; its group has the same number. */
  readonly pid: number;
  /** When that process began, in the system's own count: another with its number has another. */
  readonly began: string;
  readonly model: string;
  readonly log: string;
}

const START_MAX_MS = 600_000;
const STOP_MAX_MS = 20_000;
const PROGRESS_MS = 15_000;
const LOG_LINES = 15;

const recordOf = (port: number): string => join(serversFolder(), `running-${port}.json`);

export const urlOf = ({ port }: Pick<Running, 'port'>): string => `http://127.0.0.1:${port}`;

export interface Start {
  readonly kind: string;
  readonly port: number;
  readonly model: string;
  readonly more: readonly string[];
  readonly tell: (line: string) => void;
}

/**
 * Resolves when it is ready. When it ends or is too slow, its last lines are in the error and nothing is left
 * running.
 */
export async function start({ kind, port, model, more, tell }: Start): Promise<Running> {
  const wanted = kinds[kind]!;
  const folder = join(serversFolder(), kind);
  await mkdir(folder, { recursive: true });
  const log = join(folder, `${port}.log`);
  const { program, args, env } = wanted.start({
    environment: environmentOf(kind),
    folder,
    model,
    port,
    more,
  });
  const output = openSync(log, 'w');
  // Its own group: workers of a server are not its children forever.
  const child = spawn(program, args, {
    detached: true,
    stdio: ['ignore', output, output],
    cwd: folder,
    env: { ...process.env, ...env },
  });
  closeSync(output);
  const failed = new Promise<never>((_, reject) => child.on('error', reject));
  failed.catch(() => undefined);
  if (child.pid === undefined) await failed;
  const pid = child.pid!;
  const running = { kind, port, pid, began: await beganAt(pid), model, log };
  await writeFile(recordOf(port), `${JSON.stringify(running)}\n`);
  try {
    await Promise.race([isReady(running, () => child.exitCode ?? child.signalCode, tell), failed]);
  } catch (error) {
    await stop(running);
    const lines = (await readFile(log, 'utf8')).trim().split('\n').slice(-LOG_LINES);
    throw new Error(`${(error as Error).message}; the end of ${log}:\n${lines.join('\n')}`);
  }
  child.unref();
  return running;
}

async function isReady(
  running: Running,
  ended: () => number | NodeJS.Signals | null,
  tell: (line: string) => void,
): Promise<void> {
  const { name, ready } = kinds[running.kind]!;
  const startedMs = performance.now();
  let reportedMs = startedMs;
  for (;;) {
    if (ended() !== null) throw new Error(`${name} exited with ${ended()}`);
    if (await answers(running, ready)) return;
    const nowMs = performance.now();
    if (nowMs - startedMs > START_MAX_MS)
      throw new Error(`${name} is still not ready after ${START_MAX_MS / 1000} s`);
    if (nowMs - reportedMs > PROGRESS_MS) {
      reportedMs = nowMs;
      tell(
        `${name} has been starting for ${Math.round((nowMs - startedMs) / 1000)} s (it takes one to three minutes)`,
      );
    }
    await new Promise((done) => setTimeout(done, 500));
  }
}

export async function answers(running: Running, path: string): Promise<boolean> {
  try {
    const { status } = await fetch(urlOf(running) + path, { signal: AbortSignal.timeout(5_000) });
    return status === 200;
  } catch {
    return false;
  }
}

/** All that were started and still run. */
export async function running(): Promise<Running[]> {
  const folder = serversFolder();
  const names = existsSync(folder) ? await readdir(folder) : [];
  const found: Running[] = [];
  for (const name of names.filter((each) => /^running-\d+\.json$/.test(each))) {
    const one = JSON.parse(await readFile(join(folder, name), 'utf8')) as Running;
    if (await isAlive(one)) found.push(one);
    else await rm(join(folder, name), { force: true });
  }
  return found;
}

/** Ends the whole group: first asked, then made to. */
export async function stop(one: Running): Promise<void> {
  const untilMs = performance.now() + STOP_MAX_MS;
  if (await isAlive(one)) signal(one, 'SIGTERM');
  while (groupLives(one) && performance.now() < untilMs)
    await new Promise((done) => setTimeout(done, 200));
  signal(one, 'SIGKILL');
  await rm(recordOf(one.port), { force: true });
}

function signal({ pid }: Running, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch {
    // it is gone
  }
}

function groupLives({ pid }: Running): boolean {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
}

/** The process of then, not another one with its number. */
async function isAlive({ pid, began }: Running): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return (await beganAt(pid)) === began;
}

/** Linux says it in /proc; elsewhere the number of the process has to do. */
async function beganAt(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
