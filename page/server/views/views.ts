/** What the server computes for each view of a run. */
import type { RunPage } from '../../wire/index.ts';
import type { ServedView } from './asked.ts';
import { metrics } from './metrics.ts';
import { overviewTwin } from './overview.ts';
import { pareto } from './pareto.ts';
import { questionTwin } from './question.ts';
import { replayTwin } from './replay.ts';
import { topicLines, topicsOrTopic } from './topic.ts';
import { tokensOf, trajectory } from './trajectory.ts';
import { weights } from './weights.ts';

export const servedViews = {
  overview: { twin: ({ view, moment }) => overviewTwin(view, moment) },
  metrics: { twin: metrics },
  topics: {
    twin: topicsOrTopic,
    other: { ending: '.ndjson', type: 'application/x-ndjson; charset=utf-8', body: topicLines },
  },
  pareto: { twin: pareto },
  question: { twin: ({ view, moment, id }) => questionTwin(view, moment, id) },
  trajectory: {
    twin: trajectory,
    other: {
      ending: '/tokens.bin',
      type: 'application/octet-stream',
      body: ({ view, moment, id }) => tokensOf(view, moment, id),
    },
  },
  weights: { twin: weights },
  replay: { twin: ({ view }) => replayTwin(view) },
  results: {},
} as const satisfies Readonly<Record<RunPage, ServedView>>;
