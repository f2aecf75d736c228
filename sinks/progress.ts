/**
 * `progress`: what the run is doing, for the person who watches. A spinner (ora) on a terminal, plain lines
 * elsewhere; both on stderr, so that stdout stays for machines.
 *
 * One line an optimiser step and one an evaluation; in between the spinner (or, every quarter of a minute, a
 * line) tells what is in flight. It reads the `metrics` topic like any other sink and decides nothing.
 */
import ora from 'ora';
import { defer, finalize, type OperatorFunction } from 'rxjs';
import type { Delivery } from '../streams/deliveries/delivery.ts';
import { expandEach } from '../streams/primitives.ts';
import type { Metric } from '../streams/records.ts';

/** What is going on between two steps. */
export interface Pulse {
  /** Question groups in flight. */
  readonly inflight: number;
  /** Tokens that the policy has generated since the start. */
  readonly generatedTokens: number;
  /** Policy version in use. */
  readonly version: number;
}

export interface ProgressOptions {
  /** What each stage is called; stage 0 is before any training. */
  readonly stages: readonly string[];
  /** What is going on, or a text that says it. */
  readonly pulse: () => Pulse | string;
  readonly print: (line: string) => void;
  /** Optimiser steps in all, where that is known: lines then say how much is left. */
  readonly steps?: number;
}

const SPINNER_MS = 1000;
const LINE_MS = 15_000;

type Numbers = ReadonlyMap<string, number>;
type Shown = readonly [name: string, show: (value: number) => string];

const percent = (value: number): string => `${(value * 100).toFixed(0)} %`;

const OF_STEP: readonly Shown[] = [
  ['reward/mean', (value) => `reward ${value.toFixed(3)}`],
  ['accuracy/mean', (value) => `accuracy ${percent(value)}`],
  ['tools/mean', (value) => `tool calls ${value.toFixed(2)}`],
  ['examples', (value) => `${value.toFixed(0)} examples`],
  ['loss', (value) => `loss ${value.toFixed(4)}`],
  ['heldout/loss', (value) => `held-out loss ${value.toFixed(4)}`],
  ['entropy/mean', (value) => `entropy ${value.toFixed(3)}`],
  ['policy/lag', (value) => `lag ${value.toFixed(1)}`],
  ['thr/gen_tok_s', (value) => `${value.toFixed(0)} tok/s out`],
  ['thr/train_tok_s', (value) => `${value.toFixed(0)} tok/s trained`],
];

const OF_EVALUATION: readonly Shown[] = [
  ['eval/questions', (value) => `${value.toFixed(0)} held-out questions`],
  ['eval/accuracy', (value) => `accuracy ${percent(value)}`],
  ['eval/tools_mean', (value) => `tool calls ${value.toFixed(2)}`],
  ['eval/tools_mean_correct', (value) => `${value.toFixed(2)} when correct`],
  ['eval/efficiency', (value) => `efficiency ${percent(value)}`],
  ['eval/format_valid', (value) => `valid ${percent(value)}`],
];

/** What is known of these, in their order. */
function shown(list: readonly Shown[], numbers: Numbers): string[] {
  return list.flatMap(([name, show]) => {
    const value = numbers.get(name);
    return value === undefined ? [] : [show(value)];
  });
}

function stepLine(
  { step, stage }: Metric,
  numbers: Numbers,
  { stages, steps }: ProgressOptions,
): string {
  const of = steps === undefined ? '' : ` of ${steps}`;
  const name = `${stages[stage] ?? `stage ${stage}`} · step ${step}${of}`;
  return [name, ...shown(OF_STEP, numbers)].join(' · ');
}

/** How long the steps that are left will take if they take as long as those seen, in words. */
class TimeLeft {
  #first: { readonly step: number; readonly atMs: number } | null = null;

  /** '' until a second step was seen, and when none is left. */
  after({ step, atMs }: Metric, steps: number | undefined): string {
    this.#first ??= { step, atMs };
    const seen = step - this.#first.step;
    if (steps === undefined || seen <= 0 || step >= steps) return '';
    const minutes = (((atMs - this.#first.atMs) / seen) * (steps - step)) / 60_000;
    if (minutes < 1) return ' · under a minute left';
    return minutes < 120
      ? ` · about ${Math.round(minutes)} min left`
      : ` · about ${(minutes / 60).toFixed(1)} h left`;
  }
}

function evaluationLine({ stage }: Metric, numbers: Numbers, { stages }: ProgressOptions): string {
  const name = stages[stage] ?? `stage ${stage}`;
  return [stage === 0 ? name : `after ${name}`, ...shown(OF_EVALUATION, numbers)].join(' · ');
}

/** The last metric of a step and of an evaluation: the others were committed before it. */
const LAST_OF_STEP = 'time/train_ms';
const LAST_OF_EVALUATION = 'eval/questions';

function pulseText(pulse: Pulse | string): string {
  if (typeof pulse === 'string') return pulse;
  const { inflight, generatedTokens, version } = pulse;
  return `policy ${version} · ${inflight} groups in flight · ${generatedTokens} tokens generated`;
}

/** A terminal of no width (some pseudo-terminals) cannot be drawn on: ora would clear it without end. */
function hasWidth(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && stream.columns > 0;
}

/** metrics → the screen. */
export function progress(
  options: ProgressOptions,
): OperatorFunction<Delivery<Metric>, Delivery<never>> {
  return (source) =>
    defer(() => {
      const numbers = new Map<string, number>();
      const left = new TimeLeft();
      let heldOutStep = -1;
      const spinner = hasWidth(process.stderr)
        ? ora({ text: 'starting', discardStdin: false }).start()
        : null;
      let quietMs = 0;
      const say = (line: string): void => {
        quietMs = 0;
        spinner?.clear();
        options.print(line);
        spinner?.render();
      };
      const timer = setInterval(() => {
        quietMs += SPINNER_MS;
        if (spinner !== null) spinner.text = pulseText(options.pulse());
        else if (quietMs >= LINE_MS) say(pulseText(options.pulse()));
      }, SPINNER_MS);
      timer.unref();
      return source.pipe(
        expandEach(
          (metric) => {
            // what was measured before the first step belongs to the version before it
            if (metric.name === LAST_OF_STEP && metric.step !== heldOutStep) {
              numbers.delete('heldout/loss');
            }
            if (metric.name === 'heldout/loss') heldOutStep = metric.step;
            numbers.set(metric.name, metric.value);
            const line = { [LAST_OF_STEP]: stepLine, [LAST_OF_EVALUATION]: evaluationLine }[
              metric.name
            ];
            if (line !== undefined) {
              const more = line === stepLine ? left.after(metric, options.steps) : '';
              say(line(metric, numbers, options) + more);
              numbers.clear();
            }
            return [];
          },
          { concurrency: 1 },
        ),
        finalize(() => {
          clearInterval(timer);
          spinner?.stop();
        }),
      );
    });
}
