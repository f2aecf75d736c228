/** Reads from a run's log what its report needs: one pass over four topics, and six trajectories. */
import type { Log } from '../../streams/log.ts';
import type { BatchKind, Metric, Rollout, Scored } from '../../streams/records.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../streams/topics.ts';
import type { Run } from '../runs.ts';
import type { SampleChoice, SamplePoint } from './samples.ts';
import type { ReportInput, Timed } from './summary.ts';

export async function collect(log: Log, { name, record }: Run): Promise<ReportInput> {
  const expected = new Map<number, number>();
  await each(log, topics.questions, ({ value: { phase, stage } }) => {
    if (phase === 'evaluate') expected.set(stage, (expected.get(stage) ?? 0) + 1);
  });
  const evaluations = new Map<number, Timed<Scored>[]>();
  await each(log, topics.scored, ({ value, atMs }) => {
    const { phase, stage } = value.question;
    if (phase !== 'evaluate') return;
    evaluations.set(stage, [...(evaluations.get(stage) ?? []), { value, atMs }]);
  });
  const kinds = new Map<number, BatchKind>();
  await each(log, topics.batches, ({ value: { stage, kind } }) => kinds.set(stage, kind));
  const metrics: Metric[] = [];
  await each(log, topics.metrics, ({ value }) => metrics.push(value));
  const stats = await log.stats();
  const deadLetters = stats.find(({ topic }) => topic === topics.deadLetters.name)?.records ?? 0;
  return { run: name, record, expected, evaluations, metrics, kinds, deadLetters };
}

function each<T>(log: Log, topic: Topic<T>, take: (stored: Timed<T>) => void): Promise<void> {
  return log.tap(topic, { from: { kind: 'earliest' }, follow: false }).forEach(take);
}

/** A trajectory with its verdict. */
export interface Trajectory extends SamplePoint {
  readonly text: string;
  readonly finish: Rollout['finish'];
  readonly version: number;
}

/** A question with a trajectory of it before and after training. */
export interface Sample {
  readonly why: string;
  readonly question: Rollout['question'];
  readonly before: Trajectory;
  readonly after: Trajectory;
}

export async function fetchSamples(log: Log, choices: readonly SampleChoice[]): Promise<Sample[]> {
  const positions = choices.flatMap(({ before, after }) => [before.rollout, after.rollout]);
  const rollouts = await log.fetch(topics.rollouts, positions);
  return choices.map(({ why, before, after }, index) => {
    const [first, second] = [rollouts[2 * index]!.value, rollouts[2 * index + 1]!.value];
    return {
      why,
      question: first.question,
      before: trajectory(before, first),
      after: trajectory(after, second),
    };
  });
}

function trajectory(point: SamplePoint, { text, finish, version }: Rollout): Trajectory {
  return { ...point, text, finish, version };
}
