/**
 * What a run announces to other programs as it goes (setting `announce`): its answers, metrics and weights as
 * JSON, in three Kafka topics. Each has a stage of its own, so none slows another.
 */
import { sleepClock } from '../base/index.ts';
import { foreignSink } from '../sinks/index.ts';
import { foreignTopic } from '../streams/foreign/index.ts';
import { type Stage, sink, type Topic } from '../streams/index.ts';
import { type Metric, type Rollout, topics, type Weights } from '../topics/index.ts';
import type { JobContext } from './defineJob.ts';

/** The stages that announce; none on a replay. Fails with code `USAGE` if the address is wrong. */
export function announcing(
  address: string,
  { run, clock, print, replay }: Pick<JobContext<unknown>, 'run' | 'clock' | 'print' | 'replay'>,
): readonly Stage[] {
  if (address === '' || replay !== undefined) return [];
  const to = <T>(topic: Topic<T>, name: string, message: (value: T) => object): Stage => {
    const [place, query] = address.split('?');
    const at = `${place}.${name}${query === undefined ? '' : `?${query}`}`;
    const means = { run, print, clock: sleepClock(clock) };
    const sending = foreignSink({ ...means, to: foreignTopic(at, process.env), message });
    return sink(`announce-${name}`, topic, null, sending);
  };
  return [
    to(topics.rollouts, 'answers', answer),
    to(topics.metrics, 'metrics', (metric: Metric) => metric),
    to(topics.weights, 'weights', announcement),
  ];
}

/** A rollout without its tokens. */
function answer({
  question,
  id,
  index,
  text,
  toolCalls,
  version,
  status,
  finish,
  reason,
}: Rollout) {
  const { id: questionId, phase, round } = question;
  const asked = {
    questionId,
    question: question.question,
    answers: question.answers,
    phase,
    round,
  };
  return { id, ...asked, index, text, toolCalls, version, status, finish, reason };
}

function announcement({ version, parent, step, roundsDone, uri, digest, bytes }: Weights) {
  return { version, parent, step, roundsDone, uri, digest, bytes };
}
