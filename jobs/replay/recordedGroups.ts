/**
 * Groups of recorded rollouts, by the question as it was asked, and the recorded weights: what another
 * reward, another selection or another loss is computed from.
 */
import { defineTopic, record, text } from '../../streams/contracts/index.ts';
import type { Log, Standing } from '../../streams/index.ts';
import { upTo } from '../../streams/replay/index.ts';
import {
  asked,
  type Position,
  type Question,
  type Rollout,
  type ToolCall,
  topics,
  type Weights,
} from '../../topics/index.ts';

/** A recorded group. */
export interface RecordedGroup {
  readonly rollouts: readonly Rollout[];
  readonly toolCalls: readonly ToolCall[];
}

/**
 * The same topics with only the fields that find a record: decoding the rest for the index would cost as much
 * as using it.
 */
const rolloutIds = defineTopic<Pick<Rollout, 'id'>>({
  name: topics.rollouts.name,
  about: topics.rollouts.about,
  shape: record('Rollout', { id: text }),
  key: ({ id }) => id,
});
const callOwners = defineTopic<Pick<ToolCall, 'rolloutId'>>({
  name: topics.toolCalls.name,
  about: topics.toolCalls.about,
  shape: record('ToolCall', { rolloutId: text }),
  key: ({ rolloutId }) => rolloutId,
});

export class RecordedGroups {
  readonly #log: Log;
  /** Positions of rollouts and of their calls; records are read on demand. */
  readonly #rollouts = new Map<string, Position[]>();
  readonly #calls = new Map<string, Position[]>();
  /** Every recorded manifest, oldest first. */
  readonly weights: Weights[] = [];

  private constructor(log: Log) {
    this.#log = log;
  }

  static async of(log: Log, { ends }: Standing): Promise<RecordedGroups> {
    const groups = new RecordedGroups(log);
    const end = (topic: { readonly name: string }): number => ends[topic.name] ?? 0;
    for await (const { value, position } of upTo(log, rolloutIds, end(rolloutIds))) {
      add(groups.#rollouts, ownerOf(value.id), position.offset);
    }
    for await (const { value, position } of upTo(log, callOwners, end(callOwners))) {
      add(groups.#calls, ownerOf(value.rolloutId), position.offset);
    }
    for await (const { value } of upTo(log, topics.weights, end(topics.weights))) {
      groups.weights.push(value);
    }
    return groups;
  }

  has(question: Question): boolean {
    return this.#rollouts.has(asked(question));
  }

  /** Whether the run had reached this question; the flywheel has no rollouts. */
  knows(question: Question): boolean {
    return question.phase === 'evolve' || this.has(question);
  }

  async get(question: Question): Promise<RecordedGroup> {
    const key = asked(question);
    const rollouts = await this.#log.fetch(topics.rollouts, this.#rollouts.get(key) ?? []);
    const calls = await this.#log.fetch(topics.toolCalls, this.#calls.get(key) ?? []);
    return {
      rollouts: rollouts.map(({ value }) => value),
      toolCalls: calls.map(({ value }) => value),
    };
  }
}

function add(places: Map<string, Position[]>, key: string, offset: number): void {
  const known = places.get(key);
  if (known === undefined) places.set(key, [{ partition: 0, offset }]);
  else known.push({ partition: 0, offset });
}

/** The question of a rollout, as it was asked: the rollout is named after it. */
function ownerOf(rolloutId: string): string {
  return rolloutId.replace(/(\/monitor)?\/[^/]*$/, '');
}
