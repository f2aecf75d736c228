/**
 * Every number that a run exports to Prometheus. `npm run docs` lists them, docker/grafana draws them, and a
 * test compares it with this table.
 *
 * Base units, `_total` on counters, and no label that grows with the data: no question, rollout, version or
 * error text.
 */
import type { Family } from './exposition.ts';

type Make = (name: string, help: string, ...labels: readonly string[]) => Family;

const of =
  (type: Family['type']): Make =>
  (name, help, ...labels) => ({ name: `millrace_${name}`, type, help, labels });
const counter = of('counter');
const gauge = of('gauge');
const histogram = of('histogram');

/** Of one process of a run, measured in that process. */
export const processFamilies = {
  up: gauge('worker_info', 'Always 1; labels identify a process of the run.', 'worker', 'host'),
  heartbeat: gauge(
    'heartbeat_timestamp_seconds',
    'Unix time at which the process last reported the state of its stages.',
    'worker',
  ),
  away: gauge(
    'servers_away',
    'Servers (models, training, search) that do not answer this process.',
    'worker',
  ),
  memory: gauge('worker_memory_bytes', 'Resident memory of the process.', 'worker'),
  stageRead: counter(
    'stage_records_read_total',
    'Records that the stage has read from its topic.',
    'worker',
    'stage',
  ),
  stageOut: counter(
    'stage_records_out_total',
    'Records that the operator of the stage has emitted.',
    'worker',
    'stage',
  ),
  stageSettled: counter(
    'stage_records_settled_total',
    'Records that the stage has settled.',
    'worker',
    'stage',
  ),
  stageTime: counter(
    'stage_time_seconds_total',
    'Time of the stage by state: starved = nothing in flight except open groups, full = at capacity, busy = in between.',
    'worker',
    'stage',
    'state',
  ),
  stageCommit: counter(
    'stage_commit_seconds_total',
    'Time with a commit of the stage in progress (concurrently with its other work).',
    'worker',
    'stage',
  ),
  stageInflight: gauge(
    'stage_inflight',
    'Records that the stage has read but not settled.',
    'worker',
    'stage',
  ),
  stageInflightLimit: gauge(
    'stage_inflight_limit',
    'Maximum records per partition that the stage may have in flight.',
    'worker',
    'stage',
  ),
  stageWaiting: gauge(
    'stage_waiting',
    'Records in flight that wait in open groups.',
    'worker',
    'stage',
  ),
  stageOldest: gauge(
    'stage_oldest_seconds',
    'How long the oldest record has been in progress, not counting open groups.',
    'worker',
    'stage',
  ),
  sourceItems: gauge(
    'source_items',
    'Items of the source in the log, including those of earlier starts.',
    'worker',
    'source',
  ),
  sourceDropped: counter(
    'source_dropped_total',
    'Items of a live source that were dropped for lack of room.',
    'worker',
    'source',
  ),
  sourceHeld: counter(
    'source_held_seconds_total',
    'Time that the source has waited for the readers of its topic, or for the log.',
    'worker',
    'source',
  ),
  sourceDone: gauge(
    'source_done',
    '1 once the source has emitted all its items.',
    'worker',
    'source',
  ),
} as const;

/**
 * Of the run as a whole, read from its log: exported by the process that leads it, or by `millrace metrics`.
 */
export const runFamilies = {
  runInfo: gauge('run_info', 'Always 1; labels describe the run.', 'job', 'millrace', 'seed'),
  runStatus: gauge('run_status', '1 for the current status of the run.', 'status'),
  resumes: counter('resumes_total', 'Number of times the run was resumed.'),
  logAnswers: gauge(
    'log_answers',
    '1 if the log answered for this scrape; otherwise the numbers are older.',
  ),
  reading: gauge(
    'topic_read',
    '1 while the topic is being followed for the counters below.',
    'topic',
  ),
  topicRecords: counter('topic_records_total', 'Records in the topic.', 'topic'),
  topicBytes: counter('topic_bytes_total', 'Bytes in the topic, as stored.', 'topic'),
  lag: gauge(
    'stage_lag_records',
    'Records of the topic that the stage has yet to settle.',
    'stage',
    'topic',
  ),
  deadLetters: counter('dead_letters_total', 'Records that could not be read or processed.'),
  version: gauge('policy_version', 'Newest version of the policy.'),
  step: gauge('train_step', 'Optimiser step that made the newest version.'),
  weightsAt: gauge(
    'weights_timestamp_seconds',
    'Unix time at which the newest weights were published.',
  ),
  metric: gauge(
    'metric',
    'Newest value of a metric in the topic metrics (docs/metrics.md).',
    'name',
  ),
  metricsLeftOut: gauge(
    'metric_names_left_out',
    'Names in the topic metrics beyond the first 200.',
  ),
  trainSeconds: counter('train_seconds_total', 'Time in the trainer (time/train_ms).'),
  rollouts: counter('rollouts_total', 'Rollouts by how they ended.', 'finish'),
  rolloutSeconds: histogram('rollout_duration_seconds', 'Duration of rollouts.'),
  rolloutTurns: histogram('rollout_turns', 'Policy segments per rollout.'),
  tokens: counter('tokens_total', 'Tokens of rollouts by who wrote them.', 'kind'),
  toolCalls: counter('tool_calls_total', 'Tool calls by how they ended.', 'tool', 'outcome'),
  toolSeconds: histogram(
    'tool_duration_seconds',
    'Duration of tool calls that were not cached.',
    'tool',
  ),
  groups: counter('groups_total', 'Groups by the verdict of Pareto sampling.', 'verdict'),
} as const;

/** Of the process that answers. */
export const ownFamilies = {
  build: gauge(
    'build_info',
    'Always 1; labels identify the package that answers.',
    'version',
    'node',
  ),
  scrapes: counter('scrapes_total', 'Number of scrapes.'),
} as const;

/** All of them. */
export const allFamilies: readonly Family[] = [
  ...Object.values(ownFamilies),
  ...Object.values(processFamilies),
  ...Object.values(runFamilies),
];
