/** Which candidates `calibrate` keeps: Pareto sampling, with earlier windows and changed settings. */
import { first, firstValueFrom } from 'rxjs';
import { raceAbort } from '../../base/index.ts';
import { paretoSample } from '../../operators/index.ts';
import type { RunningFront } from '../../operators/sampling/index.ts';
import { type Feedback, type Log, recordsOf } from '../../streams/index.ts';
import {
  type Batch,
  type Question,
  type Selected,
  topics,
  type Window,
} from '../../topics/index.ts';
import type { MethodPlace } from '../method.ts';
import type { PolicyLoop } from '../policyLoop.ts';
import type { RoundSizes } from './rounds.ts';
import { type CalibrateSettings, keepIdle } from './settings.ts';

/** What the selection needs from the run, besides the candidates. */
export interface SelectionInput {
  readonly steps: Feedback<Batch>;
  readonly windows: Feedback<Window>;
  readonly live: MethodPlace['live'];
  /** Limit of open windows. */
  readonly openMax: number;
}

/** The operator from scored groups to selected ones. */
export function selection(
  { context: { log, seed } }: PolicyLoop,
  settings: CalibrateSettings,
  sizes: RoundSizes,
  { steps, windows, live, openMax }: SelectionInput,
): ReturnType<typeof paretoSample> {
  return paretoSample({
    ...settings,
    ...sizes,
    ...(live !== undefined &&
      keepIdle(settings) === null && {
        keep: (question: Question) => ({ ...sizes, ...live.of(question) }).keep,
        ready: live.ready.bind(live),
      }),
    ...(sizes.lengthMs !== null && { sizeOf: sizeOf(windows) }),
    ...(settings.sampler === 'front' && { earlier: runningFront(log, settings, sizes, steps) }),
    seed,
    openMax,
  });
}

/** How many candidates the window of a question took, once it is cut. */
function sizeOf({ values$ }: Feedback<Window>) {
  return async ({ round }: Question, until: AbortSignal): Promise<number> => {
    const cut$ = values$.pipe(first((window) => window.round === round));
    return (await raceAbort(firstValueFrom(cut$), until)).size;
  };
}

/**
 * A window is judged once the steps of all windows before it are scheduled, and the last verdicts of the run
 * with it.
 */
function runningFront(
  log: Log,
  { frontMemory: memory, epochs }: CalibrateSettings,
  { window }: RoundSizes,
  { values$ }: Feedback<Batch>,
): RunningFront {
  return {
    memory,
    async turn(version, until) {
      if (version === 0) return;
      await raceAbort(firstValueFrom(values$.pipe(first(({ step }) => step >= version))), until);
    },
    async recent() {
      const last: Selected[] = [];
      // Of a window that is read in part, only what is judged after all others may be missing.
      const from = { kind: 'last', count: 2 * epochs * (memory + window) } as const;
      for await (const { value } of recordsOf(log, topics.selected, { from })) last.push(value);
      return last;
    },
  };
}
