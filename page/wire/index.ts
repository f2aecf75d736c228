/**
 * What the page's server says and its client reads: every JSON twin, every event of the stream, and the layout of
 * `tokens.bin`. Types and a few constants: a browser bundle takes it as it is.
 *
 * Holds true of all of it:
 * - Times are milliseconds since 1970 (`…Ms` also of durations). Shares are 0..1. Unknown or not yet there is `null`, never
 *   0 and never left out; a number is finite (what was NaN or infinite is counted and said where it was).
 * - A `ref` names a record for ever by where it lies: `812` is offset 812 of partition 0, `2-812` of partition 2. It is what
 *   stands for ROLLOUT in `/r/RUN/t/ROLLOUT`; the server also takes a rollout's id there (URL-encoded).
 * - Where less is given than there is, the object says so with both numbers (`shown`/`total`, `scanned`/`of`, `Cut`).
 * - Text of the run (of policies, tools, questions) is raw and hostile: draw it with `textContent` only.
 * - New fields may be added at any time; `WIRE` rises when one changes its meaning.
 *
 * Pages and their twins (a twin's address is the page's path with `.json`, query kept; `/` has `/runs.json`):
 *
 *   /                          RunsTwin
 *   /r/RUN                     OverviewTwin        ?at=
 *   /r/RUN/metrics             MetricsTwin         ?m=a,b &x=step|time|tokens &from= &to= &n=1600 &with=RUN2,RUN3 &at=
 *   /r/RUN/topics              TopicsTwin          ?at=
 *   /r/RUN/topics/TOPIC        TopicTwin           ?offset= &partition= &dir=back|on &where= &key= &limit=100 &full=1 &at=; also `.ndjson`
 *   /r/RUN/pareto              ParetoTwin          ?step= | ?round= &x= &y= &at=
 *   /r/RUN/q/QUESTION          QuestionTwin        ?at=     (the id URL-encoded)
 *   /r/RUN/t/ROLLOUT           TrajectoryTwin      ?at= &full=1
 *   /r/RUN/t/ROLLOUT/tokens.bin  see `TokensHeader`
 *   /r/RUN/weights/VERSION     WeightsTwin         ?at=
 *   /r/RUN/replay              ReplayTwin
 *   /diff/RUN_A..RUN_B         DiffTwin            ?only=flips
 *   /control.json              ControlTwin
 *   /stream                    server-sent events, see `StreamEvents`   ?run=RUN[:metric,metric…] (repeated) &runs=1 &since=RUN@CURSOR[;RUN@CURSOR…]
 *
 * `?at=step:120` (as of the weights that step 120 made) or `?at=offset:812` (of the topic `weights`). An error is an
 * `ErrorBody` with its HTTP status. All twins take GET and HEAD.
 *
 * With `view --control` there are three POSTs, with `X-Millrace: 1`, `X-Millrace-Control: TOKEN` and a JSON body:
 *
 *   /control/admission         {run, paused}       → ControlSaid, once the run has written it down
 *   /control/verify            {run}               → ControlTwin, with status 202
 *   /control/replay            {run, from}         → ControlTwin, with status 202
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
export { type ControlJob, type ControlSaid, type ControlTwin, replayFrom } from './control.ts';
export type { DiffTwin, Divergence, Flip, Paired, PairedFigure } from './diff.ts';
export { FROZEN_ID, type Frozen, frozenKey, RESULTS_ID } from './frozen.ts';
export { limits } from './limits.ts';
export type { AbsentMetric, MetricName, MetricsTwin, Series } from './metrics.ts';
export type { Health, Mill, MillSource, MillStage, MillTopic, Shares } from './mill.ts';
export type { OverviewTwin, SettingRow } from './overview.ts';
export type { ParetoAxis, ParetoPoint, ParetoTwin } from './pareto.ts';
export type { Group, QuestionFacts, QuestionTwin, RolloutRow, Verdict } from './question.ts';
export type { ReplayStep, ReplayTwin } from './replay.ts';
export type { RunRow, RunsTwin } from './runs.ts';
export type { Heads, Hello, Points, StateChange, StreamEvents } from './stream.ts';
export type { TopicRow, TopicsTwin, TopicTwin, UnreadableRow } from './topics.ts';
export {
  type Call,
  TOKENS_MAGIC,
  type TokensHeader,
  type TrajectoryTwin,
  type Turn,
} from './trajectory.ts';
export {
  type KnownRoute,
  pathOf,
  type RunPage,
  type RunRoute,
  routeAt,
  runPages,
  runViews,
  twinPath,
} from './views.ts';
export type { WeightsTwin } from './weights.ts';
