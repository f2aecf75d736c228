/** What the server computes for each view of a run. */
import type { RunPage } from '../../wire/index.ts';
import type { ServedView } from './asked.ts';
import { metrics } from './metrics.ts';
import { overviewData } from './overview.ts';
import { pareto } from './pareto.ts';
import { questionData } from './question.ts';
import { replayData } from './replay.ts';
import { topicLines, topicsOrTopic } from './topic.ts';
import { tokensOf, trajectory } from './trajectory.ts';
import { weights } from './weights.ts';

export const servedViews = {
  overview: { data: ({ view, moment }) => overviewData(view, moment) },
  metrics: { data: metrics },
  topics: {
    data: topicsOrTopic,
    other: { ending: '.ndjson', type: 'application/x-ndjson; charset=utf-8', body: topicLines },
  },
  pareto: { data: pareto },
  question: { data: ({ view, moment, id }) => questionData(view, moment, id) },
  trajectory: {
    data: trajectory,
    other: {
      ending: '/tokens.bin',
      type: 'application/octet-stream',
      body: ({ view, moment, id }) => tokensOf(view, moment, id),
    },
  },
  weights: { data: weights },
  replay: { data: ({ view }) => replayData(view) },
  results: {},
} as const satisfies Readonly<Record<RunPage, ServedView>>;
