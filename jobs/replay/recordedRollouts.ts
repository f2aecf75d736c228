/**
 * `recordedRollouts`: replaces a stage that rolls out by the recorded rollouts. What the record does not have
 * is rolled out now, or, if that is not wanted, left out: a group that is trained on gets failed rollouts,
 * which teach nothing, and a question that is only measured is dropped. A measurement is taken from the
 * record only while the weights are the recorded ones; after that it would be of another policy.
 *
 * The versions of recorded rollouts are renumbered for this run: they move by as many as the beginning of
 * their round has moved. They were still made by the policies of the other run.
 */
import {
  connect,
  filter,
  firstValueFrom,
  map,
  merge,
  type Observable,
  type OperatorFunction,
} from 'rxjs';
import { foldRecords } from '../../operators/deepAgent/index.ts';
import { practised } from '../../operators/index.ts';
import type { Delivery } from '../../streams/deliveries/index.ts';
import { expandEach, type Stage, type Topic } from '../../streams/index.ts';
import {
  movedBy,
  movedSchedule,
  type Question,
  type Rollout,
  rolloutId,
  roundsBefore,
  type Selected,
  topics,
  type Weights,
} from '../../topics/index.ts';
import type { RecordedGroups } from './recordedGroups.ts';

export interface RecordedRolloutsOptions {
  readonly groups: RecordedGroups;
  /** Manifests of this run, from the first on. */
  readonly weights$: Observable<{ readonly value: Weights }>;
  /** What is not recorded is rolled out. */
  readonly live: boolean;
}

/** Groups fetched, or waiting for their round, at once. */
const CONCURRENCY = 64;

/** The stage with its rollouts taken from the record; null if its input is not known to be questions. */
export function recordedRollouts(stage: Stage, options: RecordedRolloutsOptions): Stage | null {
  const askedBy = asking[stage.from.name];
  if (stage.to?.name !== topics.rollouts.name || askedBy === undefined) return null;
  const wanted = (delivery: Delivery<unknown>): Question | null => askedBy(delivery.value as never);
  const known = (delivery: Delivery<unknown>): boolean => {
    const question = wanted(delivery);
    if (question === null || question.phase === 'evolve') return false;
    return !options.live || (question.phase !== 'evaluate' && options.groups.has(question));
  };
  const recorded: OperatorFunction<Delivery<unknown>, Delivery<unknown>> = expandEach(
    (value, scope) => {
      const given = askedBy(value as never)!;
      return rollouts(given, options, (to, side) => scope.also(to, side));
    },
    { concurrency: CONCURRENCY, onError: 'fail' },
  );
  return {
    ...stage,
    run: connect((deliveries$) =>
      merge(
        deliveries$.pipe(filter(known), recorded),
        deliveries$.pipe(
          filter((delivery) => !known(delivery)),
          stage.run,
        ),
      ),
    ),
  };
}

/** The question that a record asks; null if it asks none. */
const asking: Readonly<Record<string, (value: never) => Question | null>> = {
  [topics.questions.name]: (question: Question) => question,
  [topics.selected.name]: (selected: Selected) => (selected.kept ? practised(selected) : null),
};

async function rollouts(
  question: Question,
  { groups, weights$ }: RecordedRolloutsOptions,
  also: <T>(topic: Topic<T>, value: T) => void,
): Promise<readonly Rollout[]> {
  const rounds = roundsBefore(question);
  const begun = await firstValueFrom(
    weights$.pipe(
      map(({ value }) => value),
      filter(({ roundsDone }) => roundsDone >= rounds),
    ),
  );
  const moved = movedBy(question, groups.weights, begun.version);
  const then = groups.weights.find(({ roundsDone }) => roundsDone >= rounds);
  if (question.phase === 'evaluate' && then?.digest !== begun.digest) return [];
  const { rollouts: found, toolCalls } = await groups.get(question);
  for (const call of toolCalls) also(topics.toolCalls, call);
  for (const fold of found.flatMap(foldRecords)) also(topics.folds, fold);
  if (found.length === 0)
    return question.phase === 'evaluate' ? [] : [notRolledOut(question, begun)];
  return found.map((rollout) => movedRollout(moved, rollout, question));
}

function movedRollout(moved: number, rollout: Rollout, question: Question): Rollout {
  const schedule = movedSchedule(question, rollout.question.schedule, moved);
  return {
    ...rollout,
    question: { ...question, schedule },
    version: rollout.version + moved,
    segments: rollout.segments.map((part) => ({ ...part, version: part.version + moved })),
  };
}

/** The one member of a group that was never rolled out: it is not trained on, and the schedule goes on. */
function notRolledOut(question: Question, { version }: Weights): Rollout {
  return {
    id: rolloutId(question, 0),
    question,
    index: 0,
    groupSize: 1,
    seed: 0,
    text: '',
    toolCalls: 0,
    parent: null,
    version,
    prompt: new Int32Array(0),
    tokens: new Int32Array(0),
    logProbs: new Float32Array(0),
    segments: [],
    status: 'failed',
    finish: 'failed',
    startedMs: 0,
    endedMs: 0,
    episode: null,
    reason: 'not in the record, and a replay makes no new rollouts',
  };
}
