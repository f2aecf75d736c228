/**
 * Every number that a run gives Prometheus. docs/observability.md lists them, docker/grafana draws them, and a test holds both to
 * this table.
 *
 * Base units, `_total` on counters, and no label that grows with the data: no question, rollout, version or error text.
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
  up: gauge('worker_info', 'A process of the run; 1.', 'worker', 'host'),
  heartbeat: gauge(
    'heartbeat_timestamp_seconds',
    'When the process last reported the state of its stages, seconds since 1970.',
    'worker',
  ),
  away: gauge(
    'servers_away',
    'Servers (of models, training, search) that do not answer this process.',
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
    'Records that have left the operator of the stage.',
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
    'Time of the stage: starved = nothing in flight but open groups, full = all places taken, busy = between the two.',
    'worker',
    'stage',
    'state',
  ),
  stageCommit: counter(
    'stage_commit_seconds_total',
    'Time with a commit of the stage under way (beside its other work).',
    'worker',
    'stage',
  ),
  stageInflight: gauge(
    'stage_inflight',
    'Records that the stage has read and not settled.',
    'worker',
    'stage',
  ),
  stageInflightLimit: gauge(
    'stage_inflight_limit',
    'Most records of a partition that the stage may have in flight.',
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
    'How long the oldest record has been in work, open groups aside.',
    'worker',
    'stage',
  ),
  sourceItems: gauge(
    'source_items',
    'Items of the source in the log, those of earlier starts included.',
    'worker',
    'source',
  ),
  sourceDropped: counter(
    'source_dropped_total',
    'Items of a live source for which there was no room.',
    'worker',
    'source',
  ),
  sourceHeld: counter(
    'source_held_seconds_total',
    'Time that the source waited for the readers of its topic, or for the log.',
    'worker',
    'source',
  ),
  sourceDone: gauge(
    'source_done',
    '1 once the source has given all its items.',
    'worker',
    'source',
  ),
} as const;

/** Of the run as a whole, read from its log: given by the process that leads it, or by `millrace metrics`. */
export const runFamilies = {
  runInfo: gauge('run_info', 'What runs; 1.', 'job', 'millrace', 'seed'),
  runStatus: gauge('run_status', '1 at the status of the run.', 'status'),
  resumes: counter('resumes_total', 'How often the run was started again.'),
  logAnswers: gauge('log_answers', '1 if the log answered for this scrape; else older numbers.'),
  reading: gauge('topic_read', '1 while the topic is followed for the counters below.', 'topic'),
  topicRecords: counter('topic_records_total', 'Records in the topic.', 'topic'),
  topicBytes: counter('topic_bytes_total', 'Bytes in the topic, as stored.', 'topic'),
  lag: gauge(
    'stage_lag_records',
    'Records of the topic that the stage has not settled.',
    'stage',
    'topic',
  ),
  deadLetters: counter('dead_letters_total', 'Records that could not be read or processed.'),
  version: gauge('policy_version', 'Newest version of the policy.'),
  step: gauge('train_step', 'Optimiser step that made it.'),
  weightsAt: gauge(
    'weights_timestamp_seconds',
    'When the newest weights were published, seconds since 1970.',
  ),
  metric: gauge(
    'metric',
    'Newest value of a number in the topic metrics (docs/metrics.md).',
    'name',
  ),
  metricsLeftOut: gauge(
    'metric_names_left_out',
    'Names in the topic metrics beyond the first 200.',
  ),
  trainSeconds: counter('train_seconds_total', 'Time in the trainer (time/train_ms).'),
  rollouts: counter('rollouts_total', 'Rollouts by how they ended.', 'finish'),
  rolloutSeconds: histogram('rollout_duration_seconds', 'From the start of a rollout to its end.'),
  rolloutTurns: histogram('rollout_turns', 'Policy segments of a rollout.'),
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
  build: gauge('build_info', 'The package that answers; 1.', 'version', 'node'),
  scrapes: counter('scrapes_total', 'How often these numbers were asked for.'),
} as const;

/** All of them. */
export const allFamilies: readonly Family[] = [
  ...Object.values(ownFamilies),
  ...Object.values(processFamilies),
  ...Object.values(runFamilies),
];
