/** The paper's table of an evaluation, for people. */

import { columns, type Table } from '../../base/terminal/index.ts';
import type { BenchmarkRow, BenchmarkTable, TableNumbers } from '../../operators/metrics/index.ts';
import { fixed, hundred, orDash } from '../format/numbers.ts';

interface Column {
  readonly label: string;
  /** Its meaning in a few words; empty if the label suffices. */
  readonly about: string;
  readonly show: (row: BenchmarkRow) => string;
  /** The same of a mean over rows; empty if there is none. */
  readonly mean: (numbers: TableNumbers) => string;
}

const two = fixed(2);
const none = (): string => '';

/** Name of a row's headline number. */
const measureNames: Readonly<Record<BenchmarkRow['measure'], string>> = {
  judge: 'LJ',
  equality: 'equal',
  f1: 'F1',
  reward: 'reward',
  task: 'task',
};

function of(label: string, about: string, value: (numbers: TableNumbers) => string): Column {
  return { label, about, show: value, mean: value };
}

/** The paper's columns first; columns without numbers in this evaluation are left out. */
function columnsOf({ rows }: Pick<BenchmarkTable, 'rows'>): readonly Column[] {
  const passes = [...new Set(rows.flatMap(({ passAtK }) => Object.keys(passAtK)))];
  const largest = Math.max(0, ...rows.map(({ questions, responses }) => responses / questions));
  return [
    { label: 'questions', about: '', show: (row) => String(row.questions), mean: none },
    {
      label: 'by',
      about:
        'LJ = judge’s verdict, equal = LaTeX equality, F1 = shared words, task = the task’s gold calls or its environment',
      show: (row) => measureNames[row.measure],
      mean: none,
    },
    of('correct', 'correctness out of 100', ({ correctness }) => hundred(correctness)),
    {
      label: '95 %',
      about: 'confidence interval of the correctness (Wilson, or bootstrap over questions)',
      show: ({ interval: { low, high } }) => `${hundred(low)}–${hundred(high)}`,
      mean: none,
    },
    ...(rows.some(({ path }) => path !== null)
      ? [
          {
            label: 'path',
            about: 'share of the gold calls that were made, out of 100',
            show: ({ path }: BenchmarkRow) => orDash(path, hundred),
            mean: none,
          },
        ]
      : []),
    of('effi', 'correctness per tool call, out of 100', ({ efficiency }) => hundred(efficiency)),
    of('calls', 'tool calls per response', ({ toolCalls }) => two(toolCalls)),
    ...(rows.some(({ conciseness }) => conciseness !== null)
      ? [
          of('concise', 'responses without redundant calls, out of 100', ({ conciseness }) =>
            orDash(conciseness, hundred),
          ),
        ]
      : []),
    of('executed', 'correctness per failed call, out of 100', (row) =>
      hundred(row.successfulExecution),
    ),
    of('length', 'correctness per 1000 tokens written', (row) => two(row.reasoningLength)),
    ...passes.map((name) => ({
      label: name,
      about: 'chance that at least one of k is right, out of 100',
      show: ({ passAtK }: BenchmarkRow) => orDash(passAtK[name], hundred),
      mean: none,
    })),
    ...[
      ['best', 'correctness of the best of n drawn with replacement, out of 100'] as const,
      [
        'maj',
        'correctness of the majority answer of n drawn with replacement, out of 100',
      ] as const,
    ].flatMap(([name, about]) => {
      const value = ({ resampled }: BenchmarkRow) => resampled[`${name}@${largest}/mean`];
      if (!rows.some((row) => value(row) !== undefined)) return [];
      const show = (row: BenchmarkRow) => orDash(value(row), hundred);
      return [{ label: `${name}@${largest}`, about, show, mean: none }];
    }),
  ];
}

/** The rows of means, if any. */
export function meansOf({ averages }: Pick<BenchmarkTable, 'averages'>): readonly {
  readonly name: string;
  readonly numbers: TableNumbers;
}[] {
  const { math, qa, all } = averages;
  const both = math !== null && qa !== null;
  return [
    ...(math === null ? [] : [{ name: 'mathematics', numbers: math }]),
    ...(qa === null ? [] : [{ name: 'knowledge', numbers: qa }]),
    ...(both && all !== null ? [{ name: 'all', numbers: all }] : []),
  ];
}

/** A row for each benchmark, then the means over rows; `means` = how many of these there are. */
export function benchmarksTable(report: Pick<BenchmarkTable, 'rows' | 'averages'>): {
  readonly table: Table;
  readonly means: number;
} {
  const shown = columnsOf(report);
  const means = meansOf(report);
  const table: Table = {
    columns: columns(['benchmark', ...shown.map(({ label }) => label)]),
    rows: [
      ...report.rows.map((row) => [row.source, ...shown.map(({ show }) => show(row))]),
      ...means.map(({ name, numbers }) => [
        `mean of ${name}`,
        ...shown.map(({ mean }) => mean(numbers)),
      ]),
    ],
  };
  return { table, means: means.length };
}

/** What the columns mean, unless the labels suffice. */
export function benchmarksNote(report: Pick<BenchmarkTable, 'rows'>): string {
  return columnsOf(report)
    .filter(({ about }) => about !== '')
    .map(({ label, about }) => `${label}: ${about}`)
    .join(' · ');
}
