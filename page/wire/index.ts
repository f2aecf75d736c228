/**
 * What the page's server says and its client reads: the JSON data of every page, every event of the stream,
 * and the layout of `tokens.bin`. Types and a few constants: a browser bundle takes it as it is.
 *
 * All of it guarantees:
 * - Times are milliseconds since 1970 (`…Ms` also of durations). Shares are 0..1. Unknown or not yet there is
 *   `null`, never 0 and never left out; a number is finite (what was NaN or infinite is counted and said
 *   where it was).
 * - A `ref` names a record forever by its place: `812` is offset 812 of partition 0, `2-812` of
 *   partition 2. It is used for ROLLOUT in `/r/RUN/t/ROLLOUT`; the server also takes a rollout's id
 *   there (URL-encoded).
 * - If less is given than there is, the object says so with both numbers (`shown`/`total`, `scanned`/`of`,
 *   `Cut`).
 * - Text of the run (of policies, tools, questions) is raw and hostile: draw it with `textContent` only.
 * - New fields may be added at any time; `WIRE` rises when one changes its meaning.
 *
 * Pages and their data (its address is the page's path with `.json`, query kept; `/` has `/runs.json`):
 *
 *   /                          RunsData
 *   /r/RUN                     OverviewData        ?at=
 *   /r/RUN/results             ResultsData
 *   /r/RUN/happened            HappenedData        ?at=
 *   /r/RUN/metrics             MetricsData         ?m=a,b &x=step|time|tokens &from= &to= &n=1600 &with=RUN2,RUN3 &at=
 *   /r/RUN/topics              TopicsData          ?at=
 *   /r/RUN/topics/TOPIC        TopicData           ?offset= &partition= &dir=back|on &where= &key= &limit=100 &full=1 &at=; also `.ndjson`
 *   /r/RUN/rollouts            RolloutsData        ?n=200 &at=
 *   /r/RUN/pareto              ParetoData          ?step= | ?round= &x= &y= &at=
 *   /r/RUN/q/QUESTION          QuestionData        ?at=     (the id URL-encoded)
 *   /r/RUN/t/ROLLOUT           TrajectoryData      ?at= &full=1
 *   /r/RUN/t/ROLLOUT/tokens.bin  see `TokensHeader`
 *   /r/RUN/weights/VERSION     WeightsData         ?at=
 *   /r/RUN/replay              ReplayData
 *   /diff/RUN_A..RUN_B         DiffData            ?only=flips
 *   /terms.json                Terms
 *   /control.json              ControlData
 *   /stream                    server-sent events, see `StreamEvents`   ?run=RUN[:metric,metric…] (repeated) &runs=1 &since=RUN@CURSOR[;RUN@CURSOR…]
 *
 * `?at=step:120` (as of the weights that step 120 made) or `?at=offset:812` (of the topic `weights`). An
 * error is an `ErrorBody` with its HTTP status. All of them take GET and HEAD.
 *
 * With `view --control` there are three POSTs, with `X-Millrace: 1`, `X-Millrace-Control: TOKEN` and a JSON
 * body:
 *
 *   /control/admission         {run, paused}       → ControlSaid, once the run has recorded it
 *   /control/verify            {run}               → ControlData, with status 202
 *   /control/replay            {run, from}         → ControlData, with status 202
 */
export {
  type At,
  type Cut,
  type ErrorBody,
  type OfRun,
  type RunHead,
  type RunState,
  type Shown,
  WIRE,
} from './common.ts';
export { type ControlData, type ControlJob, type ControlSaid, replayFrom } from './control.ts';
export type { DiffData, Divergence, Flip, Paired, PairedFigure, TokenText } from './diff.ts';
export { FROZEN_ID, type Frozen, frozenKey, RESULTS_ID } from './frozen.ts';
export type { HappenedData, HappenedEvent, LevelChange } from './happened.ts';
export { limits } from './limits.ts';
export type { AbsentMetric, MetricName, MetricsData, Series } from './metrics.ts';
export type { Health, Mill, MillSource, MillStage, MillTopic, Shares } from './mill.ts';
export type { OverviewData, SettingRow } from './overview.ts';
export type { ParetoAxis, ParetoData, ParetoPoint } from './pareto.ts';
export type { Group, QuestionData, QuestionFacts, RolloutRow, Verdict } from './question.ts';
export type { ReplayData, ReplayStep } from './replay.ts';
export type { Example, Headline, ResultCurve, ResultsData, Shot, TextTable } from './results.ts';
export type { ListedRollout, RolloutsData } from './rollouts.ts';
export type { RunRow, RunsData } from './runs.ts';
export type { Heads, Hello, Points, StateChange, StreamEvents } from './stream.ts';
export type { Term, TermKind, Terms } from './terms.ts';
export type { TopicData, TopicRow, TopicsData, UnreadableRow } from './topics.ts';
export {
  type Call,
  type SessionCallView,
  type SessionToolView,
  type SessionView,
  TOKENS_MAGIC,
  type TokensHeader,
  type TrajectoryData,
  type Turn,
} from './trajectory.ts';
export {
  dataPath,
  type KnownRoute,
  pathOf,
  type RunPage,
  type RunRoute,
  routeAt,
  runPages,
  runViews,
} from './views.ts';
export type { WeightsData } from './weights.ts';
