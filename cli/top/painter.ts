/**
 * Frames on their way out: on a terminal each in place of the one before, elsewhere below it, or as JSON.
 * Messages meanwhile appear in the frame that is on the terminal until the next one, else on stderr.
 *
 * On a terminal frames are drawn on its alternate screen, so that nothing that was there is lost, and a frame
 * is redrawn when the size changes; the last one is printed when that screen is left.
 */

import { jsonText } from '../../base/terminal/index.ts';
import type { Live } from '../../summary/index.ts';
import { liveLines } from '../../summary/text/index.ts';
import type { Io, Screen } from '../io.ts';
import { asTyped } from '../programName.ts';

/** To the other screen and back. */
const ENTER = '\u001b[?1049h';
const LEAVE = '\u001b[?1049l';
const HOME = '\u001b[H';
/** Clears the rest of a line, and what is below the last one. */
const REST_OF_LINE = '\u001b[K';
const BELOW = '\u001b[J';

export interface PainterOptions {
  readonly json: boolean;
  /** There is one frame: nothing is painted over. */
  readonly once: boolean;
}

export class Painter {
  readonly #io: Io;
  readonly #options: PainterOptions;
  readonly #release: () => void;
  #frame: Live | null = null;
  #notice: string | null = null;
  #entered = false;

  constructor(io: Io, options: PainterOptions) {
    this.#io = io;
    this.#options = options;
    this.#release = io.onResize?.(() => void this.#draw()) ?? (() => undefined);
  }

  async paint(live: Live): Promise<void> {
    if (this.#options.json) return this.#io.out(`${jsonText(live)}\n`);
    this.#frame = live;
    this.#notice = null;
    if (this.#painted() !== null) return this.#draw();
    const between = this.#options.once ? '\n' : '\n\n';
    return this.#io.out(this.#lines(live).join('\n') + between);
  }

  notice(line: string): void {
    if (this.#frame === null || this.#painted() === null) this.#io.err(line);
    else {
      this.#notice = line;
      void this.#draw();
    }
  }

  /** Gives the terminal back, with the last frame on it. */
  async close(): Promise<void> {
    this.#release();
    if (!this.#entered) return;
    this.#entered = false;
    const last = this.#frame === null ? '' : `${this.#lines(this.#frame).join('\n')}\n`;
    await this.#io.out(LEAVE + last);
  }

  /** The terminal for frames; null if there is none. */
  #painted(): Screen | null {
    if (this.#options.json || this.#options.once || this.#io.dumb === true) return null;
    return this.#io.screen?.() ?? null;
  }

  #lines(live: Live): string[] {
    const screen = this.#io.screen?.() ?? null;
    const colour = this.#io.colour?.out === true;
    const fitting = screen === null ? {} : { columns: screen.columns - 1 };
    return liveLines(live, { colour, ...fitting }).map((line) => asTyped(line, this.#io));
  }

  async #draw(): Promise<void> {
    const screen = this.#painted();
    if (this.#frame === null || screen === null) return;
    const [head = '', ...rest] = this.#lines(this.#frame);
    const lines = [head, ...(this.#notice === null ? [] : [this.#notice]), ...rest];
    const shown = lines
      .slice(0, Math.max(1, screen.rows - 1))
      .map((line) => cut(line, screen.columns - 1) + REST_OF_LINE);
    const enter = this.#entered ? '' : ENTER;
    this.#entered = true;
    return this.#io.out(`${enter}${HOME}${shown.join('\n')}\n${BELOW}`);
  }
}

const COLOUR = new RegExp(`(${'\u001b'}\\[[0-9;]{1,8}m)`);

/** This many characters of a line; colours take no room, and each one started is ended. */
function cut(line: string, columns: number): string {
  let left = columns;
  const parts = line.split(COLOUR).map((part, i) => {
    if (i % 2 === 1) return part;
    const shown = part.slice(0, Math.max(0, left));
    left -= part.length;
    return shown;
  });
  return parts.join('');
}
