/**
 * What the records of a topic mean, so that two runs can be compared: which record is which, what it refers to, when in
 * a run's life it was made, and which of its numbers are time.
 *
 * Topics that are not ours (a job may define its own) have their key for an identity and refer to nothing.
 */
import type * as r from '../records.ts';
import type { Topic } from '../topic.ts';
import { topics } from '../topics.ts';

/** Every topic of ours. */
export const allTopics: readonly Topic<unknown>[] = Object.values(
  topics,
) as unknown as readonly Topic<unknown>[];

/** A field of a record that says where another record lies. */
export interface Reference {
  /** Path of the field, e.g. `groups.3.scored`. */
  readonly field: string;
  readonly topic: Topic<unknown>;
  readonly position: r.Position;
}

interface Meaning<T> {
  /** One in a run. */
  readonly identity: (value: T) => string;
  /** Policy version that was newest where it was made, as far as the record tells; orders the life of a run. */
  readonly moment: (value: T) => number;
  readonly references?: (value: T) => readonly Reference[];
  /** Fields that records of an older contract lack: they read as null, which says nothing. */
  readonly added?: readonly (keyof T & string)[];
  /** The record as it would have been made when the recorded one was, where that one is older and has less within its fields. */
  readonly asThen?: (made: T, recorded: T) => unknown;
  /** Fields that may hold a name which a service made up (`scheme://…`): two of them say nothing. */
  readonly named?: readonly (keyof T & string)[];
}

/** A question as it was asked: the same one comes again in other phases and stages. */
export function asked({ id, phase, stage }: r.Question): string {
  return `${id}/${phase}-${stage}`;
}

const none = (): number => 0;
const to = <T>(topic: Topic<T>, field: string, position: r.Position): Reference => ({
  field,
  topic: topic as Topic<unknown>,
  position,
});

const questions: Meaning<r.Question> = { identity: asked, moment: () => -1 };

const rollouts: Meaning<r.Rollout> = {
  identity: ({ id }) => id,
  moment: ({ segments, version }) => Math.max(version, ...segments.map((part) => part.version)),
};

const toolCalls: Meaning<r.ToolCall> = {
  identity: ({ rolloutId, turn }) => `${rolloutId}#${turn}`,
  // It does not tell; what comes of a call shows in its rollout.
  moment: () => Number.POSITIVE_INFINITY,
};

const scored: Meaning<r.Scored> = {
  identity: ({ question }) => asked(question),
  moment: ({ version }) => version,
  references: (value) =>
    value.rollouts.map((position, i) => to(topics.rollouts, `rollouts.${i}`, position)),
  asThen: (made, recorded) => ({
    ...made,
    rewards: made.rewards.map((reward, i) => withoutFormat(reward, recorded.rewards[i])),
  }),
};

/** `score` tells of the format since it is known of every response; before, only rewards that count it did. */
function withoutFormat(made: r.Reward, recorded: r.Reward | undefined): r.Reward {
  if (recorded === undefined || recorded.parts.format !== undefined) return made;
  const { format: _, ...parts } = made.parts;
  return { ...made, parts };
}

const selected: Meaning<r.Selected> = {
  identity: ({ question }) => asked(question),
  moment: ({ version }) => version,
  references: (value) => [to(topics.scored, 'scored', value.scored)],
};

const batches: Meaning<r.Batch> = {
  identity: ({ step }) => String(step),
  moment: ({ version }) => version,
  references: ({ groups, examples, kind }) => [
    ...groups.map((group, i) => to(topics.scored, `groups.${i}.scored`, group.scored)),
    ...examples.map(({ position }, i) => {
      const from = kind === 'dpo' ? topics.pairs : topics.demonstrations;
      return to<unknown>(from as Topic<unknown>, `examples.${i}.position`, position);
    }),
  ],
};

const weights: Meaning<r.Weights> = {
  identity: ({ version }) => String(version),
  moment: ({ parent }) => parent,
  references: ({ consumed }) =>
    consumed === null ? [] : [to(topics.batches, 'consumed', consumed)],
  added: ['stateDigest', 'parentDigest'],
  named: ['uri', 'state'],
};

const metrics: Meaning<r.Metric> = {
  identity: ({ name, step, stage }) => `${name} of step ${step}, stage ${stage}`,
  moment: ({ step }) => step,
  // Of formats that nobody had told all were valid; what is told of them is compared in `scored`.
  asThen: (made, recorded) =>
    made.name === 'eval/format_valid' && recorded.value === 1 ? { ...made, value: 1 } : made,
};

const evolved: Meaning<r.Evolved> = {
  identity: ({ question, index, round }) => `${asked(question)}/${index} of round ${round}`,
  moment: ({ version }) => version,
};

const demonstrations: Meaning<r.Demonstrations> = {
  identity: ({ question }) => asked(question),
  moment: ({ version }) => version,
};

const pairs: Meaning<r.Pairs> = { identity: ({ question }) => asked(question), moment: none };

const folds: Meaning<r.FoldRecord> = {
  identity: ({ rolloutId, fold }) => `${rolloutId} fold ${fold}`,
  // As for calls.
  moment: () => Number.POSITIVE_INFINITY,
};

const windows: Meaning<r.Window> = { identity: ({ stage }) => `stage ${stage}`, moment: () => -1 };

const control: Meaning<r.Control> = { identity: ({ id }) => id, moment: () => -1 };

const deadLetters: Meaning<r.DeadLetter> = {
  identity: ({ origin, place, key, field }) => `${origin}@${place} ${key} ${field}`.trimEnd(),
  moment: none,
};

/** By name of the topic; each entry is only ever given records of its topic. */
const meanings: Readonly<Record<string, Meaning<never>>> = {
  [topics.questions.name]: questions,
  [topics.rollouts.name]: rollouts,
  [topics.toolCalls.name]: toolCalls,
  [topics.scored.name]: scored,
  [topics.selected.name]: selected,
  [topics.batches.name]: batches,
  [topics.weights.name]: weights,
  [topics.metrics.name]: metrics,
  [topics.evolved.name]: evolved,
  [topics.demonstrations.name]: demonstrations,
  [topics.pairs.name]: pairs,
  [topics.folds.name]: folds,
  [topics.windows.name]: windows,
  [topics.control.name]: control,
  [topics.deadLetters.name]: deadLetters,
};

/** Which record it is: the same in another run of the same questions. */
export function identityOf<T>(topic: Topic<T>, value: T): string {
  return meanings[topic.name]?.identity(value as never) ?? topic.key(value);
}

/** Newest policy version where it was made; -1 = before any. */
export function momentOf<T>(topic: Topic<T>, value: T): number {
  return meanings[topic.name]?.moment(value as never) ?? 0;
}

/** Fields of the topic's records that an older record lacks, where null says nothing. */
export function addedFields(topic: string): readonly string[] {
  return meanings[topic]?.added ?? [];
}

/** What was made, as it would have been when an older record was. */
export function asThen<T>(topic: string, made: T, recorded: T): T {
  const then = meanings[topic]?.asThen;
  return then === undefined ? made : (then(made as never, recorded as never) as T);
}

/** Fields of the topic's records in which two names of a service say nothing. */
export function namedFields(topic: string): readonly string[] {
  return meanings[topic]?.named ?? [];
}

/** What it refers to. */
export function referencesOf<T>(topic: Topic<T>, value: T): readonly Reference[] {
  return meanings[topic.name]?.references?.(value as never) ?? [];
}

/** Whether records of this topic refer to others. */
export function refers(topic: string): boolean {
  return meanings[topic]?.references !== undefined;
}

/** The record with something else in the place of each reference. */
export function withReferences<T>(
  topic: Topic<T>,
  value: T,
  instead: (topic: string, position: r.Position) => unknown,
): T {
  const references = referencesOf(topic, value);
  if (references.length === 0) return value;
  const copy = structuredClone(value);
  for (const { field, topic: to, position } of references) {
    const path = field.split('.');
    const holder = path
      .slice(0, -1)
      .reduce((inner, part) => inner[part] as Holder, copy as unknown as Holder);
    holder[path.at(-1)!] = instead(to.name, position);
  }
  return copy;
}

type Holder = Record<string, unknown>;

/** Metrics that measure time or throughput: they differ whenever a run is repeated. */
const TIMED = /^(time|thr)\/|(_ms|_s)$/;

/** Whether a record is about time alone, so that nothing of it can be compared. */
export function isTimed(topic: Topic<unknown>, value: unknown): boolean {
  return topic.name === topics.metrics.name && TIMED.test((value as r.Metric).name);
}

/** Fields that hold times and durations, in any record. */
export function isTimeField(field: string): boolean {
  return field === 'ms' || field.endsWith('Ms');
}
