/**
 * Frames on their way out: over the frame before on a terminal, below it elsewhere, or as JSON. What has to be said
 * meanwhile appears in the frame that is on the terminal until the next one, else on stderr.
 */

import type { Live } from '../../views/summary/live.ts';
import { liveLines } from '../../views/text/liveText.ts';
import { jsonText } from '../../views/text/plain.ts';
import type { Io, Screen } from '../io.ts';

export class Painter {
  readonly #io: Io;
  readonly #json: boolean;
  /** The newest frame, in full. */
  #frame: readonly string[] = [];
  /** Lines of it that are on the terminal. */
  #lines = 0;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.#json = json;
  }

  async paint(live: Live): Promise<void> {
    if (this.#json) return this.#io.out(`${jsonText(live)}\n`);
    this.#frame = liveLines(live);
    const screen = this.#screen();
    if (screen === null) return this.#io.out(`${this.#frame.join('\n')}\n\n`);
    return this.#show(this.#frame, screen);
  }

  notice(line: string): void {
    const screen = this.#screen();
    const [head, ...rest] = this.#frame;
    if (this.#json || screen === null || head === undefined) this.#io.err(line);
    else void this.#show([head, line, ...rest], screen);
  }

  #screen(): Screen | null {
    return this.#io.screen?.() ?? null;
  }

  async #show(lines: readonly string[], screen: Screen): Promise<void> {
    const shown = fitting(lines, screen);
    const over = this.#lines === 0 ? '' : `\u001b[${this.#lines}A\r\u001b[J`;
    this.#lines = shown.length;
    return this.#io.out(`${over}${shown.join('\n')}\n`);
  }
}

/** A line that wraps, or one above the screen, could not be painted over. */
function fitting(lines: readonly string[], { columns, rows }: Screen): string[] {
  return lines.slice(0, Math.max(1, rows - 1)).map((line) => line.slice(0, columns - 1));
}
