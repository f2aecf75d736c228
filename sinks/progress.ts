/**
 * `progress`: what the run is doing, for people watching. It reads the `metrics` topic like any other sink,
 * turns it into events (an optimiser step, an evaluation, steps that teach nothing) and passes them to a
 * screen, with the current state once a second. It decides nothing.
 */
import { defer, finalize, type OperatorFunction } from 'rxjs';
import { type Clock, every } from '../base/index.ts';
import type { Delivery } from '../streams/deliveries/index.ts';
import { expandEach } from '../streams/index.ts';
import { Learning, type Metric, noteOf } from '../topics/index.ts';
import type { ProgressEvent, ProgressScreen, Pulse } from './progress/events.ts';
import { lineScreen } from './progress/lineScreen.ts';
import { ProgressTracker, roundName, type TrackerOptions } from './progress/tracker.ts';

export type { Pulse } from './progress/events.ts';

export interface ProgressOptions extends TrackerOptions {
  /** The run's name, for the commands that a warning advises. */
  readonly run?: string;
  /** What the run is doing, or a text that says it. */
  readonly pulse: () => Pulse | string;
  /** Prints lines, if no other screen is given. */
  readonly print: (line: string) => void;
  readonly screen?: ProgressScreen | undefined;
  /** How answers are sampled, in words. */
  readonly sampling?: string;
  readonly clock: Clock;
}

const STATUS_MS = 1000;

/** The last metric of a step and of an evaluation: the others were committed before it. */
const LAST_OF: Readonly<Record<string, ProgressEvent['kind']>> = {
  'time/train_ms': 'step',
  'eval/questions': 'evaluation',
};
const HELD_OUT_LOSS = 'heldout/loss';

/** metrics → the screen. */
export function progress(
  options: ProgressOptions,
): OperatorFunction<Delivery<Metric>, Delivery<never>> {
  const { run, rounds, steps = null, sampling = '', pulse, clock } = options;
  return (source) =>
    defer(() => {
      const screen = options.screen ?? lineScreen(options.print);
      const tracker = new ProgressTracker(options);
      const numbers = new Map<string, number>();
      const learning = new Learning();
      let heldOutStep = -1;
      const take = (metric: Metric): void => {
        const { name, step, round, value, atMs } = metric;
        const idle = learning.add(metric);
        const kind = LAST_OF[name];
        // what was measured before the first step belongs to the version before it
        if (kind === 'step' && step !== heldOutStep) numbers.delete(HELD_OUT_LOSS);
        if (name === HELD_OUT_LOSS) heldOutStep = step;
        numbers.set(name, value);
        if (kind === undefined) return;
        const called = roundName(rounds, round);
        const own = { numbers: Object.fromEntries(numbers), sampling, steps };
        const event: ProgressEvent = { kind, round, roundName: called, step, atMs, ...own };
        tracker.add(event);
        screen.event(event);
        if (idle !== null) screen.warning({ text: noteOf(idle, { run }), round, step, atMs });
        numbers.clear();
      };
      const end = every(clock, STATUS_MS, () =>
        screen.status(tracker.status(pulse(), clock.now())),
      );
      return source.pipe(
        expandEach(
          (metric) => {
            take(metric);
            return [];
          },
          { concurrency: 1 },
        ),
        finalize(() => {
          end();
          screen.close();
        }),
      );
    });
}
