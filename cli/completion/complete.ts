/** `millrace completion`: prints a shell's script, or what may come next. */
import type { Command } from 'commander';
import { exitCodes } from '../failure.ts';
import type { Io } from '../io.ts';
import { candidates } from './candidates.ts';
import { shells } from './shells.ts';

interface Asked {
  readonly shell: string;
  /** Null = the script. */
  readonly words: readonly string[] | null;
  /** The program for these words. */
  readonly program: (words: readonly string[]) => Promise<Command>;
}

export async function completionCommand({ shell, words, program }: Asked, io: Io): Promise<number> {
  const { script, line } = shells[shell]!;
  if (words === null) {
    await io.out(script);
    return exitCodes.done;
  }
  const found = await candidates(await program(words), words, io.cwd);
  await io.out(found.map((one) => `${line(one)}\n`).join(''));
  return exitCodes.done;
}
