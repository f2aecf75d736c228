/**
 * Tells the user that no server answers: a line at intervals with the time so far, what is known and what
 * will happen, and one line at the end. All waiting requests share the lines.
 */
import type { Report } from '../outage.ts';
import type { SleepClock } from '../sleepClock.ts';

const LINE_EVERY_MS = 15_000;
/** What to watch meanwhile. */
const ADVICE = 'check that it is running and read its log';

export interface AbsenceOptions {
  readonly clock: SleepClock;
  /** How long it may last. */
  readonly maxMs: number;
  /** How lines name it: `a model server`. */
  readonly one: string;
  /** What a log line says if none answers: `no model server has answered`. */
  readonly silent: string;
  /** What happens once it has lasted too long: `waiting requests fail`. */
  readonly after: string;
  /** Address of the server; null if there are several. */
  readonly server: string | null;
  readonly report: Report;
}

export class Absence {
  readonly #options: AbsenceOptions;
  #sinceMs: number | null = null;
  #lastLineMs = Number.NEGATIVE_INFINITY;

  constructor(options: AbsenceOptions) {
    this.#options = options;
  }

  /** No server answered `request`, which now waits. */
  goesOn(request: string, reason: string): void {
    const { clock, maxMs, silent, after, server, report } = this.#options;
    const nowMs = clock.now();
    this.#sinceMs ??= nowMs;
    if (nowMs - this.#lastLineMs < LINE_EVERY_MS) return;
    this.#lastLineMs = nowMs;
    const forMs = nowMs - this.#sinceMs;
    report(
      `${silent} ${request} for ${wholeSeconds(forMs)} s (${reason}): ${ADVICE}. ` +
        `Work resumes by itself once it answers; after ${wholeSeconds(maxMs)} s ${after}`,
      { state: 'away', server, reason, forMs },
    );
  }

  /** A server answered. */
  ended(): void {
    if (this.#sinceMs === null) return;
    const { clock, one, server, report } = this.#options;
    const forMs = clock.now() - this.#sinceMs;
    const line = `${one} answers again, after ${wholeSeconds(forMs)} s`;
    report(line, { state: 'back', server, reason: '', forMs });
    this.#sinceMs = null;
    this.#lastLineMs = Number.NEGATIVE_INFINITY;
  }
}

/** How lines and errors say it. */
export function wholeSeconds(ms: number): number {
  return Math.round(ms / 1000);
}
