/** Which curves the page shows, from the metrics topic (names as in docs/metrics.md). */
import { type Chart, chart, type Point, type Series } from './chart.ts';
import type { Html } from './html.ts';
import { completeStages, type Evaluation, type Report, type ReportInput } from './summary.ts';

const percent = (value: number): string => `${Math.round(value * 100)} %`;
const short = (value: number): string => {
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e5)) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
};

export interface Curves {
  readonly learning: readonly Html[];
  readonly stability: readonly Html[];
}

export function curves(input: ReportInput, report: Report): Curves {
  const of = (name: string): Point[] =>
    input.metrics.filter((m) => m.name === name).map(({ step, value }) => ({ x: step, y: value }));
  const ends = roundEnds(input);
  const heldOut = (key: keyof Evaluation): Series => ({
    name: 'held-out',
    dots: true,
    points: heldOutPoints(report, ends, key),
  });
  const draw = (options: Omit<Chart, 'marks'>): Html =>
    chart({ ...options, marks: [...ends.values()] });
  const one = (title: string, name: string, fromZero = false): Html =>
    draw({ title, series: [{ name: title, points: of(name) }], show: short, fromZero });
  return {
    learning: [
      one('Reward', 'reward/mean'),
      draw({
        title: 'Accuracy',
        series: [{ name: 'training', points: of('accuracy/mean') }, heldOut('accuracy')],
        show: percent,
        fromZero: true,
      }),
      draw({
        title: 'Tool calls',
        series: [{ name: 'training', points: of('tools/mean') }, heldOut('meanToolCalls')],
        show: short,
        fromZero: true,
      }),
      one('Entropy', 'entropy/mean', true),
      one('Policy lag (versions)', 'policy/lag', true),
      draw({
        title: 'Tokens a second',
        series: [
          { name: 'generated', points: of('thr/gen_tok_s') },
          { name: 'trained', points: of('thr/train_tok_s') },
        ],
        show: short,
        fromZero: true,
      }),
    ],
    stability: [
      one('Loss', 'loss'),
      one('Gradient norm', 'grad_norm', true),
      one('Clipped tokens (share)', 'clip/fraction', true),
      one('KL to the sampling policy', 'kl/behaviour'),
      one('Response length (tokens)', 'len/response', true),
      one('Valid format in training (share)', 'format/valid', true),
      one('Longest standstill of the event loop (ms)', 'time/loop_gap_ms', true),
    ],
  };
}

/** The last step of each round; 0 for the time before training. */
function roundEnds(input: ReportInput): Map<number, number> {
  const ends = new Map<number, number>([[0, 0]]);
  for (const { name, stage, step } of input.metrics) {
    if (!name.startsWith('eval/')) ends.set(stage, Math.max(ends.get(stage) ?? 0, step));
  }
  for (const stage of completeStages(input)) if (!ends.has(stage)) ends.set(stage, stage);
  return ends;
}

function heldOutPoints(
  { before, rounds }: Report,
  ends: ReadonlyMap<number, number>,
  key: keyof Evaluation,
): Point[] {
  const values = [
    [0, before?.[key] ?? null] as const,
    ...rounds.map((r) => [r.round, r[key]] as const),
  ];
  return values.flatMap(([stage, y]) => (y === null ? [] : [{ x: ends.get(stage) ?? stage, y }]));
}
