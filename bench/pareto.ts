/**
 * Group-wise Pareto selection against the pairwise writing of it: `npm run bench:pareto`.
 *
 * Both select half of the same 8,000 groups in this process, and must select the same, in the same order,
 * with the same fronts and distances. The pairwise time is its fastest run, ours the median. A million
 * groups, which the pairwise writing cannot do, have a limit of three seconds.
 */
import assert from 'node:assert/strict';
import type { Point } from '../operators/sampling/fronts.ts';
import { type ParetoVerdict, paretoSelect } from '../operators/sampling/pareto.ts';
import { pairwiseSelect } from '../test/support/pairwisePareto.ts';
import { continuousPoints, tiedPoints } from './groups.ts';
import { benchmark } from './options.ts';
import { median, print, type Row, timeMs } from './table.ts';

const PAIRED_GROUPS = 8_000;
const MANY_GROUPS = 1_000_000;
/** Until the compiler has seen enough: the twentieth run takes a third of the first. */
const WARM_RUNS = 20;
const WARM_GROUPS = 1_000;
const TIMES_FASTER_GOAL = 200;
const LIMIT_S = 3;

type Select = (points: readonly Point[], keep: number) => ParetoVerdict;

async function runsMs(select: Select, points: readonly Point[], runs: number): Promise<number[]> {
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    times.push(await timeMs(() => select(points, points.length / 2)));
  }
  return times;
}

async function againstPairwise(kind: string, points: readonly Point[]): Promise<Row> {
  await runsMs(paretoSelect, points, WARM_RUNS);
  await runsMs(pairwiseSelect, points.slice(0, WARM_GROUPS), 5);
  const half = points.length / 2;
  assert.deepEqual(paretoSelect(points, half), pairwiseSelect(points, half));
  const ours = median(await runsMs(paretoSelect, points, 21));
  const theirs = Math.min(...(await runsMs(pairwiseSelect, points, 3)));
  return {
    what: `${PAIRED_GROUPS.toLocaleString('en')} groups, ${kind}`,
    against: 'pairwise, same output',
    ratio: theirs / ours,
    goal: TIMES_FASTER_GOAL,
    unit: 'ms',
    ours,
    theirs,
  };
}

async function againstLimit(kind: string, points: readonly Point[]): Promise<Row> {
  const ours = median(await runsMs(paretoSelect, points, 3)) / 1000;
  return {
    what: `${MANY_GROUPS.toLocaleString('en')} groups, ${kind}`,
    against: `a limit of ${LIMIT_S} s`,
    ratio: ours / LIMIT_S,
    goal: 1,
    atMost: true,
    unit: 's',
    ours,
    theirs: LIMIT_S,
  };
}

const { json } = benchmark(
  'npm run bench:pareto',
  `Group-wise Pareto selection beside a pairwise implementation, which must select the same; and a million groups
beside a limit in seconds.`,
)
  .parse()
  .opts<{ json: boolean }>();
const rows = [
  await againstPairwise('tied', tiedPoints(PAIRED_GROUPS)),
  await againstPairwise('continuous', continuousPoints(PAIRED_GROUPS)),
  await againstLimit('tied', tiedPoints(MANY_GROUPS)),
  await againstLimit('continuous', continuousPoints(MANY_GROUPS)),
];
print('Pareto selection', rows, json);
