/**
 * What a terminal shows while there is nothing else to show: a line that is redrawn or, where that is
 * impossible, the same line every five seconds. Elsewhere it prints nothing.
 */
import type { Io } from '../io.ts';
import { isDrawn, spinner } from './spinner.ts';

/** Seconds without a line on a terminal that only takes lines. */
export const SILENT_MAX = 5;
/** Time between two updates of the text. */
const DRAWN_MS = 250;

/** Shows the current `text()` until the returned function is called. */
export function meanwhile(io: Io, text: () => string): () => void {
  if (!io.terminal) return () => undefined;
  if (isDrawn(io) && process.stderr.columns > 0) {
    const drawn = spinner(io).start(text());
    const drawing = setInterval(() => {
      drawn.text = text();
    }, DRAWN_MS);
    return () => {
      clearInterval(drawing);
      drawn.stop();
    };
  }
  const saying = setInterval(() => io.err(text()), SILENT_MAX * 1000);
  return () => clearInterval(saying);
}
