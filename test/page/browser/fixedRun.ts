/**
 * A run that is the same for ever, as a page frozen into a file: what its pictures show depends on the page
 * alone.
 */
import {
  type Frozen,
  type MetricsData,
  type Mill,
  type MillStage,
  type OverviewData,
  type ParetoData,
  type QuestionData,
  type RolloutRow,
  type RunHead,
  type Series,
  type Shares,
  WIRE,
} from '../../../page/wire/index.ts';

const nowMs = 1_790_000_000_000;

const head: RunHead = {
  ...{ name: 'fixed', job: 'fixed', seed: 1, status: 'done', state: 'done', stateText: '' },
  ...{ startedMs: nowMs - 1000, endedMs: nowMs, starts: 1, step: 40, version: 40 },
  ...{ heardMs: nowMs, log: 'folder' },
};
const ofRun = { wire: WIRE, nowMs, run: head, at: null, command: '' };

function shares(busy: number, starved: number, blocked: number, paced: number): Shares {
  return { busy, starved, blocked, paced };
}

function stage(name: string, from: string, to: string, of: Shares, phase = 'RL'): MillStage {
  return {
    ...{ name, from, to, shares: of, full: 0, in: 1200, out: 300, inPerSecond: 0, outPerSecond: 0 },
    ...{ inflight: 3, inflightMax: 64, waiting: 0, lag: 7, lagMs: null, oldestMs: 0 },
    ...{ isOld: false, processes: 1, phase, finished: phase === 'Fine-tuning' },
  };
}

const topicNames = ['questions', 'rollouts', 'scored', 'selected', 'batches', 'weights'];

const mill: Mill = {
  ...{ run: 'fixed', atMs: nowMs, rates: 'life', step: 40, version: 40, policyLag: 0 },
  health: { level: 'good', text: 'Finished after step 40.', stage: 'rollout' },
  ...{ policyLagMax: 1, reward: 0.6, tokensPerSecond: { generated: null, trained: null } },
  sources: [{ name: 'rows', to: 'questions', items: 500, perSecond: 0, done: true, held: 0 }],
  stages: [
    stage('filter', 'questions', 'demonstrations', shares(1, 0, 0, 0), 'Fine-tuning'),
    stage('rollout', 'questions', 'rollouts', shares(0.7, 0.1, 0, 0.2)),
    stage('score', 'rollouts', 'scored', shares(0.1, 0.7, 0.2, 0)),
    stage('pareto', 'scored', 'selected', shares(0.05, 0.95, 0, 0)),
    stage('batch', 'selected', 'batches', shares(0, 1, 0, 0)),
    stage('trainer', 'batches', 'weights', shares(0.4, 0.55, 0.05, 0), ''),
  ],
  topics: topicNames.map((name, i) => ({
    ...{ name, about: name, records: 1000 + i, bytes: 4000 * i, perSecond: null, lastMs: nowMs },
    ...{ lag: {}, spark: [] },
  })),
  ...{ workers: [], weights: { version: 40, step: 40, atMs: nowMs }, tools: null, selection: null },
};

/** A curve of forty steps that never moves by chance. */
function series(run: string, name: string, phase: number, several = false): Series {
  const step = Array.from({ length: 40 }, (_, i) => i + 1);
  const mean = step.map((x) => 0.5 + 0.3 * Math.sin(x / 6 + phase) + (x === 20 ? 0.3 : 0));
  const by = several ? 0.15 : 0;
  return {
    ...{
      run,
      name,
      width: several ? 4 : 1,
      x: step,
      step,
      mean,
      count: step.map(() => 1 + by * 20),
    },
    ...{ min: mean.map((y) => y - by), max: mean.map((y) => y + by), shown: 40, total: 40 },
    ...{ odd: 2, oddSteps: [11, 31] },
  };
}

const curves = ['reward/mean', 'accuracy/mean', 'entropy/mean'].map((name, i) =>
  series('fixed', name, i),
);
const overview: OverviewData = {
  ...{ ...ofRun, cursor: '', behind: 0, mill, curves, absent: [], settings: [], steering: [] },
};
const metrics: MetricsData = {
  ...{ ...ofRun, cursor: '', behind: 0, names: [], x: 'step', absent: [], missing: [] },
  series: [series('fixed', 'loss', 0), series('beside', 'loss', 2, true)],
};

const points: ParetoData['points'] = Array.from({ length: 60 }, (_, i) => ({
  ...{ question: `q-${i}`, ref: String(i), scored: String(i), front: i % 5, kept: i % 5 < 3 },
  // Each front on an arc of its own.
  ...{
    x: (1 - (i % 5) / 6) * Math.cos((Math.floor(i / 5) * Math.PI) / 23),
    y: (1 - (i % 5) / 6) * Math.sin((Math.floor(i / 5) * Math.PI) / 23),
    verdict: i % 5 < 3 ? 'selected' : 'dominated',
  },
  ...{ distance: 1, correct: 0.5, calls: 1, reward: 0.5 },
}));
const pareto: ParetoData = {
  ...{
    ...ofRun,
    round: 1,
    rounds: [{ round: 1, name: 'round 1' }],
    x: 'spreadCalls',
    y: 'spreadCorrect',
    points,
  },
  axes: [
    { name: 'spreadCalls', about: 'spread of calls' },
    { name: 'spreadCorrect', about: 'spread of correctness' },
  ],
  ...{ shown: 60, total: 60, verdicts: { selected: 36, dominated: 24 }, why: '' },
};

function rolloutRow(index: number, parent: RolloutRow['parent'], tokens: number): RolloutRow {
  return {
    ...{ ref: String(index), id: `q/${index}`, index, question: 'q', parent, tokens, turns: 2 },
    ...{ toolCalls: 1, toolErrors: 0, status: 'done', finish: 'answer', reason: '', versions: [1] },
    ...{ reward: index / 4, parts: {}, advantage: 0, correct: index % 2 === 0, ms: 10 },
  };
}
const question: QuestionData = {
  ...ofRun,
  question: { id: 'q', text: 'Which?', answers: ['this'], source: 'fixed', ability: 'qa' },
  groups: [
    {
      ...{
        when: 'practice, round 1',
        phase: 'practice',
        round: 1,
        version: 1,
        scored: '1',
        size: 4,
        verdict: null,
        batch: null,
      },
      rollouts: [
        rolloutRow(0, null, 120),
        rolloutRow(1, { index: 0, offset: 60 }, 150),
        rolloutRow(2, null, 80),
        rolloutRow(3, { index: 2, offset: 30 }, 90),
      ],
    },
  ],
  ...{ total: 1, scanned: 1, of: 1 },
};

export const fixedRun: Frozen = {
  ...{ wire: WIRE, frozenMs: nowMs, start: '/r/fixed', bins: {}, leftOut: '' },
  json: {
    '/r/fixed.json': overview,
    '/r/fixed/metrics.json': metrics,
    '/r/fixed/pareto.json': pareto,
    '/r/fixed/q/q.json': question,
  },
};
