/**
 * Progress for an output that is not a terminal: one line per evaluation, one per step but at most one in ten
 * seconds (the first and the last of a round always), and one now and then while nothing else happens.
 */
import type { ProgressEvent, ProgressScreen } from './events.ts';
import { eventLine, statusLine } from './lines.ts';

/** Time between two lines about steps, by the times of the steps. */
const STEP_MS = 10_000;
/** Calls of `status`, one a second, without a line. */
const SILENT_MAX = 30;

/** `silentMax` = seconds without a line while the run is going. */
export function lineScreen(
  print: (line: string) => void,
  { silentMax = SILENT_MAX }: { readonly silentMax?: number } = {},
): ProgressScreen {
  let silent = 0;
  let stepMs = Number.NEGATIVE_INFINITY;
  let round = -1;
  const say = (line: string): void => {
    silent = 0;
    print(line);
  };
  return {
    event(event) {
      const soon = event.round === round && event.atMs - stepMs < STEP_MS;
      if (event.kind === 'step' && soon && !isLast(event)) return;
      if (event.kind === 'step') {
        round = event.round;
        stepMs = event.atMs;
      }
      say(eventLine(event));
    },
    warning({ text }) {
      say(`warning: ${text}`);
    },
    status(status) {
      silent += 1;
      if (silent >= silentMax) say(statusLine(status));
    },
    close() {},
  };
}

function isLast({ step, steps, numbers }: ProgressEvent): boolean {
  return step === steps || numbers['round/share'] === 1;
}
