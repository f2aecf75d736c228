/**
 * What `millrace run` prints, and where: a live status on a terminal, lines elsewhere, nothing with
 * `--quiet`, JSON lines on stdout with `--json` (docs/output.md). Warnings and errors always go to stderr.
 */

import type { Report } from '../../base/index.ts';
import { jsonText } from '../../base/terminal/index.ts';
import { lineScreen, type ProgressEvent, type ProgressScreen } from '../../sinks/progress/index.ts';
import type { Io } from '../io.ts';
import { liveScreen } from './liveScreen.ts';
import { meanwhile, SILENT_MAX } from './meanwhile.ts';
import { isDrawn } from './spinner.ts';

export interface OutputFlags {
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** One line of `--json`, without its type. */
type Fields = Readonly<Record<string, unknown>>;

export interface RunOutput {
  /**
   * A line for people. One about an outage, or that begins with `warning: `, is printed with `--quiet` and
   * `--json` too.
   */
  say: Report;
  /** A line of `--json`. */
  tell(type: string, fields: Fields): void;
  /** Shows a sign of life on a terminal while the job is built, until the returned function is called. */
  preparing(): () => void;
  readonly screen: ProgressScreen;
}

const WARNING = 'warning: ';
/** Calls of `status`, one a second, to one line of JSON. */
const STATUS_EVERY = 15;

export function runOutput({ quiet = false, json = false }: OutputFlags, io: Io): RunOutput {
  const tell = (type: string, fields: Fields): void => {
    if (json) void io.out(`${jsonText({ type, at: io.clock.now(), ...fields })}\n`);
  };
  const say: Report = (line, outage) => {
    const isWarning = line.startsWith(WARNING);
    if (outage !== undefined || isWarning || (!quiet && !json)) io.err(line);
    if (outage !== undefined) {
      const { state, ...of } = outage;
      tell(state, { ...of, text: line });
    } else if (isWarning) tell('warning', { text: line.slice(WARNING.length) });
  };
  const warn = (text: string): void => io.err(`${WARNING}${text}`);
  const preparing = (): (() => void) =>
    json || quiet ? () => undefined : meanwhile(io, () => PREPARING);
  if (json) return { say, tell, preparing, screen: jsonScreen(tell, warn) };
  if (quiet) return { say, tell, preparing, screen: silentScreen(warn) };
  return { say, tell, preparing, screen: peopleScreen(io) };
}

const PREPARING = 'preparing policy, tools and questions';

/** A terminal without a width (some pseudo-terminals) cannot be drawn on. */
function peopleScreen(io: Io): ProgressScreen {
  const print = (line: string): void => io.err(line);
  const stream = isDrawn(io) && process.stderr.columns > 0 ? process.stderr : null;
  if (stream === null) return lineScreen(print, io.terminal ? { silentMax: SILENT_MAX } : {});
  return lazily(() => liveScreen({ print, stream, io }));
}

/** A spinner turns as soon as it exists, so it is made once there is something to show. */
function lazily(make: () => ProgressScreen): ProgressScreen {
  let made: ProgressScreen | null = null;
  const screen = (): ProgressScreen => {
    made ??= make();
    return made;
  };
  return {
    event: (event) => screen().event(event),
    warning: (warning) => screen().warning(warning),
    status: (status) => screen().status(status),
    close: () => made?.close(),
  };
}

type Warn = (text: string) => void;

function silentScreen(warn: Warn): ProgressScreen {
  return { event() {}, warning: ({ text }) => warn(text), status() {}, close() {} };
}

function jsonScreen(tell: RunOutput['tell'], warn: Warn): ProgressScreen {
  let seconds = 0;
  return {
    event({ kind, ...fields }: ProgressEvent) {
      tell(kind, fields);
    },
    warning(warning) {
      tell('warning', { ...warning });
      warn(warning.text);
    },
    status(status) {
      seconds += 1;
      if (seconds % STATUS_EVERY === 0) tell('status', { ...status });
    },
    close() {},
  };
}
