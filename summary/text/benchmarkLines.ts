/** What was evaluated, and what a reader must know to trust the numbers: for text and page. */

import { counted } from '../../base/text/index.ts';
import { describeSampling } from '../../model/index.ts';
import type { Benchmarks } from '../benchmarks/benchmarks.ts';

/** What was evaluated, in one line. */
export function headOf(benchmarks: Benchmarks): string {
  const { policy, questions, rollouts, judge, grader, tools } = benchmarks;
  return [
    policy.name,
    counted(questions, 'question'),
    `${counted(rollouts, 'rollout')} each`,
    describeSampling(benchmarks),
    tools.length === 0 ? 'no tools' : `tools ${tools.join(', ')}`,
    judge === null ? 'no judge' : `judged by ${judge}`,
    ...(grader === 'papers' ? [] : [`graded as ${grader}`]),
  ].join(' · ');
}

/** What readers must know to trust the numbers; empty if all is well. */
export function cautionsOf(benchmarks: Benchmarks): string[] {
  const { rows, status, failedRollouts, deadLetters, run } = benchmarks;
  const unjudged = rows.reduce((sum, { judgeFailures }) => sum + judgeFailures, 0);
  return [
    ...(status === 'done' ? [] : [`the run is ${status}: results cover only the questions so far`]),
    ...(failedRollouts === 0
      ? []
      : [`${counted(failedRollouts, 'rollout')} failed and counted as wrong`]),
    ...(unjudged === 0
      ? []
      : [`${counted(unjudged, 'answer')} got no verdict and counted as wrong`]),
    ...rows.flatMap(({ source, judgeUnread, grader }) =>
      judgeUnread === 0
        ? []
        : [
            `${counted(judgeUnread, 'answer')} of ${source} counted as wrong because the judge's reply has no verdict in the form ${grader}`,
          ],
    ),
    ...(deadLetters === 0
      ? []
      : [`${counted(deadLetters, 'row')} could not be read (millrace dlq ls ${run})`]),
  ];
}
