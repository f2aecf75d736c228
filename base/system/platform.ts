/**
 * The differences between Linux, macOS and Windows, in one place: what the system knows about a process,
 * signals, and folders on the disk. docs/platforms.md says what this means for users.
 *
 * Only Linux has /proc; elsewhere what it would say is unknown.
 */
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';

const isWindows = process.platform === 'win32';
const PAGE_BYTES = 4096;

/** How many threads to use by default: half of the machine's, at least one. */
export function halfOfThem(): number {
  return Math.max(1, availableParallelism() >> 1);
}

/** The system and its processor, as text: `linux x64`. */
export const machine = `${process.platform} ${process.arch}`;

/** Limit of open files; null if the system does not say. Read at the start, since asking takes a file. */
export const openFilesMax: number | null = (() => {
  const found = /^Max open files +(\d+)/m.exec(proc(process.pid, 'limits'))?.[1];
  return found === undefined ? null : Number(found);
})();

/** Whether a process with this number runs on this machine; a zombie does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !['Z', 'X'].includes(statOf(pid)[0] ?? '');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** When a process began, in clock ticks since the machine did; empty if the system does not say. */
export function startOf(pid: number): string {
  return statOf(pid)[19] ?? '';
}

/** Resident size of a process in bytes; null if the system does not say. */
export function residentBytes(pid: number): number | null {
  const [, pages] = proc(pid, 'statm').split(' ');
  return pages === undefined ? null : Number(pages) * PAGE_BYTES;
}

let lastBytes = 0;

/** Resident size of this process; the last known one if no file can be opened. */
export function ownBytes(): number {
  try {
    lastBytes = process.memoryUsage.rss();
  } catch {
    // whoever needs a file reports it
  }
  return lastBytes;
}

/** The command line of a process; empty if the system does not say. */
export function commandLineOf(pid: number): readonly string[] {
  const line = proc(pid, 'cmdline');
  return line === '' ? [] : line.split('\0');
}

/** The signals for an orderly end: Ctrl-C, and a supervisor's (on Windows Ctrl-Break). */
export const stopSignals: readonly NodeJS.Signals[] = isWindows
  ? ['SIGINT', 'SIGBREAK']
  : ['SIGINT', 'SIGTERM'];

/**
 * Ends this process as Ctrl-C would (a shell sees 130). A plain exit would first take down native code whose
 * worker threads still compute, and abort.
 */
export function endByInterrupt(): void {
  process.removeAllListeners('SIGINT');
  process.kill(process.pid, 'SIGINT');
}

/** Makes a new name in a folder survive a power failure. Windows cannot open folders, and need not. */
export async function syncFolder(path: string): Promise<void> {
  if (isWindows) return;
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The fields after a process's name in /proc, its state first; empty if it is gone or there is no /proc. */
function statOf(pid: number): readonly string[] {
  const stat = proc(pid, 'stat');
  return stat === '' ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function proc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
