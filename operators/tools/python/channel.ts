/**
 * Reads lines from a possibly hostile process: none is longer than the limit, whatever comes. A longer one,
 * and everything after it, is not read.
 */
import type { Readable } from 'node:stream';

/** Calls `heard` with each line as it arrives, and once with null if one is longer than `lengthMax`. */
export function readLines(
  stream: Readable,
  lengthMax: number,
  heard: (line: string | null) => void,
): void {
  let rest = '';
  let over = false;
  stream.setEncoding('utf8');
  stream.on('error', () => undefined);
  stream.on('data', (text: string) => {
    if (over) return;
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (lines.some(({ length }) => length > lengthMax) || rest.length > lengthMax) {
      over = true;
      rest = '';
      stream.destroy();
      heard(null);
      return;
    }
    for (const line of lines) heard(line);
  });
}
