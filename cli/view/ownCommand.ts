/** A command of this program as a separate process: from the sources, or as built. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** It has a process group of its own: Ctrl-C in this terminal does not reach it; its starter ends it. */
export function ownCommand(
  args: readonly string[],
  where: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): ChildProcessWithoutNullStreams {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const main = fileURLToPath(new URL(`../main.${extension}`, import.meta.url));
  return spawn(process.execPath, [...process.execArgv, main, ...args], {
    ...where,
    detached: true,
  });
}
