/** A line on stderr about what is going on, shown only on a terminal that can be drawn on. */
import ora, { type Ora } from 'ora';
import type { Io } from '../io.ts';

/** Whether a line on stderr can be drawn over. */
export function isDrawn({ terminal, dumb = false }: Pick<Io, 'terminal' | 'dumb'>): boolean {
  return terminal && !dumb;
}

/** The cursor stays visible, so nothing needs to be restored however the process ends. */
export function spinner(io: Io, stream: NodeJS.WriteStream = process.stderr): Ora {
  return ora({
    ...{ stream, isSilent: !isDrawn(io), discardStdin: false, hideCursor: false },
    ...(io.colour?.err === true ? { color: 'cyan' as const } : { color: false as const }),
  });
}
