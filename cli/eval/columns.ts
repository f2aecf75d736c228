/** The columns of an evaluation's table as people read them; text and page share them. */
import type { Row, TableNumbers } from '../../operators/metrics/table.ts';
import type { EvalReport } from './evalReport.ts';

export interface Column {
  readonly label: string;
  /** What it means, in a few words; empty where the label says it. */
  readonly about: string;
  readonly show: (row: Row) => string;
  /** The same of a mean over rows; empty where there is none. */
  readonly mean: (numbers: TableNumbers) => string;
}

const hundred = (value: number): string => (100 * value).toFixed(1);
const two = (value: number): string => value.toFixed(2);
const none = (): string => '';

/** What the headline number of a row is called. */
export const measureNames: Readonly<Record<Row['measure'], string>> = {
  judge: 'LJ',
  equality: 'equal',
  f1: 'F1',
  reward: 'reward',
};

function of(label: string, about: string, value: (numbers: TableNumbers) => string): Column {
  return { label, about, show: value, mean: value };
}

/** The paper's columns first; those that this evaluation has no numbers for are left out. */
export function columnsOf({ rows }: Pick<EvalReport, 'rows'>): readonly Column[] {
  const passes = [...new Set(rows.flatMap(({ passAtK }) => Object.keys(passAtK)))];
  return [
    { label: 'questions', about: '', show: (row) => String(row.questions), mean: none },
    {
      label: 'by',
      about: 'LJ = the judge’s verdict, equal = LaTeX equality, F1 = shared words',
      show: (row) => measureNames[row.measure],
      mean: none,
    },
    of('correct', 'correctness, of 100', ({ correctness }) => hundred(correctness)),
    {
      label: '95 %',
      about: 'interval of the correctness, by bootstrap over questions',
      show: ({ interval: { low, high } }) => `${hundred(low)}–${hundred(high)}`,
      mean: none,
    },
    of('effi', 'correctness per tool call, of 100', ({ efficiency }) => hundred(efficiency)),
    of('calls', 'tool calls a response', ({ toolCalls }) => two(toolCalls)),
    ...(rows.some(({ conciseness }) => conciseness !== null)
      ? [
          of('concise', 'responses without redundant calls, of 100', ({ conciseness }) =>
            conciseness === null ? '–' : hundred(conciseness),
          ),
        ]
      : []),
    of('executed', 'correctness per failed call, of 100', (row) =>
      hundred(row.successfulExecution),
    ),
    of('length', 'correctness per 1000 tokens of its own', (row) => two(row.reasoningLength)),
    ...passes.map((name) => ({
      label: name,
      about: 'chance that one of k is right, of 100',
      show: ({ passAtK }: Row) => (passAtK[name] === undefined ? '–' : hundred(passAtK[name])),
      mean: none,
    })),
  ];
}

/** The rows of means, those that there are. */
export function meansOf({ averages }: Pick<EvalReport, 'averages'>): readonly {
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

/** What was evaluated, in one line. */
export function headOf(report: EvalReport): string {
  const { policy, questions, rollouts, judge, tools } = report;
  return [
    policy.name,
    `${questions} questions`,
    rollouts === 1 ? '1 rollout each' : `${rollouts} rollouts each`,
    samplingText(report),
    tools.length === 0 ? 'no tools' : `tools ${tools.join(', ')}`,
    judge === null ? 'no judge' : `judged by ${judge}`,
  ].join(' · ');
}

function samplingText(report: EvalReport): string {
  const { temperature, topP, topK, minP, repetitionPenalty } = report;
  return [
    temperature === 0 ? 'greedy' : `temperature ${temperature}`,
    ...(topP === 1 ? [] : [`top-p ${topP}`]),
    ...(topK === 0 ? [] : [`top-k ${topK}`]),
    ...(minP === 0 ? [] : [`min-p ${minP}`]),
    ...(repetitionPenalty === 1 ? [] : [`repetition penalty ${repetitionPenalty}`]),
  ].join(', ');
}

/** What a reader must know to trust the numbers; empty when all is well. */
export function cautionsOf(report: EvalReport): string[] {
  const { rows, status, failedRollouts, deadLetters, run } = report;
  const unjudged = rows.reduce((sum, { judgeFailures }) => sum + judgeFailures, 0);
  return [
    ...(status === 'done' ? [] : [`the run is ${status}: these are the questions so far`]),
    ...(failedRollouts === 0 ? [] : [`${failedRollouts} rollouts failed and count as wrong`]),
    ...(unjudged === 0 ? [] : [`${unjudged} answers got no verdict and count as wrong`]),
    ...(deadLetters === 0 ? [] : [`${deadLetters} rows could not be read: millrace dlq ls ${run}`]),
  ];
}
