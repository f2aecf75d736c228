/**
 * `progress`: what the run is doing, for the person who watches. A spinner (ora) on a terminal, plain lines
 * elsewhere; both on stderr, so that stdout stays for machines.
 *
 * One line an optimiser step and one an evaluation; in between the spinner (or, every quarter of a minute, a
 * line) tells what is in flight. It reads the `metrics` topic like any other sink and decides nothing.
 */
import ora from 'ora';
import { defer, finalize, type OperatorFunction } from 'rxjs';
import type { Delivery } from '../streams/delivery.ts';
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
  readonly rounds: number;
  readonly pulse: () => Pulse;
  readonly print: (line: string) => void;
}

const SPINNER_MS = 1000;
const LINE_MS = 15_000;

type Numbers = ReadonlyMap<string, number>;

function shown(numbers: Numbers, name: string, digits: number): string {
  return (numbers.get(name) ?? Number.NaN).toFixed(digits);
}

function percent(numbers: Numbers, name: string): string {
  return `${((numbers.get(name) ?? Number.NaN) * 100).toFixed(0)} %`;
}

function stepLine({ step, stage }: Metric, n: Numbers, options: ProgressOptions): string {
  return [
    `round ${stage}/${options.rounds} step ${step}`,
    `reward ${shown(n, 'reward/mean', 3)}`,
    `accuracy ${percent(n, 'accuracy/mean')}`,
    `tool calls ${shown(n, 'tools/mean', 2)}`,
    `entropy ${shown(n, 'entropy/mean', 3)}`,
    `lag ${shown(n, 'policy/lag', 1)}`,
    `${shown(n, 'thr/gen_tok_s', 0)} tok/s out, ${shown(n, 'thr/train_tok_s', 0)} tok/s trained`,
  ].join(' · ');
}

function evaluationLine({ stage }: Metric, n: Numbers): string {
  return [
    stage === 0 ? 'before training' : `after round ${stage}`,
    `${shown(n, 'eval/questions', 0)} held-out questions`,
    `accuracy ${percent(n, 'eval/accuracy')}`,
    `tool calls ${shown(n, 'eval/tools_mean', 2)} (${shown(n, 'eval/tools_mean_correct', 2)} when correct)`,
    `efficiency ${percent(n, 'eval/efficiency')}`,
    `valid ${percent(n, 'eval/format_valid')}`,
  ].join(' · ');
}

/** The last metric of a step and of an evaluation: the others were committed before it. */
const LAST_OF_STEP = 'time/train_ms';
const LAST_OF_EVALUATION = 'eval/questions';

function pulseText({ inflight, generatedTokens, version }: Pulse): string {
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
            numbers.set(metric.name, metric.value);
            if (metric.name === LAST_OF_STEP) say(stepLine(metric, numbers, options));
            if (metric.name === LAST_OF_EVALUATION) say(evaluationLine(metric, numbers));
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
