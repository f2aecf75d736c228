/**
 * What a commit settles, as the offsets of its groups: the first unsettled record of each partition, and in
 * the metadata which ones after it are settled (in the state topic when that is too long for it).
 */
import { offsetFetchV8 } from '@platformatic/kafka';
import type { Link } from './link.ts';
import type { OwnedPartition } from './ownedPartition.ts';
import { decodeProgress, encodeProgress, lowOf, type ProgressState } from './partitionProgress.ts';
import { type CommitNote, type StateTopic, unsettledKey } from './stateTopic.ts';
import type { OffsetsOfGroup } from './transactor.ts';

export interface Settle {
  readonly owned: OwnedPartition;
  readonly offset: number;
}

/** Brokers take 4,096 bytes of metadata with an offset by default. */
const METADATA_BYTES_MAX = 4_000;
const IN_STATE = 'm1@';
/** Of the newer protocol of groups, which we do not use. */
const NO_EPOCH = -1;
const ONLY_DECIDED = true;

/** As in a commit's note. */
export function settledBy(settles: readonly Settle[]): CommitNote['settled'] {
  return [...byPartition(settles)].map(([{ topic, group, partition }, offsets]) => {
    return [topic, group, partition, offsets] as const;
  });
}

function byPartition(settles: readonly Settle[]): Map<OwnedPartition, number[]> {
  const offsetsOf = new Map<OwnedPartition, number[]>();
  for (const { owned, offset } of settles) {
    const offsets = offsetsOf.get(owned) ?? [];
    offsetsOf.set(owned, offsets);
    offsets.push(offset);
  }
  return offsetsOf;
}

/** What to commit for each group; progress too long for it goes to `entries`. */
export function offsetsOf(
  settles: readonly Settle[],
  entries: Map<string, unknown>,
): readonly OffsetsOfGroup[] {
  const groups = new Map<string, OffsetsOfGroup>();
  for (const [owned, offsets] of byPartition(settles)) {
    const { membership, partition, topic, group } = owned;
    const next = owned.progress.after(offsets);
    let metadata = encodeProgress(next);
    if (metadata.length > METADATA_BYTES_MAX) {
      entries.set(unsettledKey(topic, group, partition), metadata);
      metadata = IN_STATE;
    }
    const known = groups.get(membership.groupId);
    groups.set(membership.groupId, {
      member: membership.member,
      topic: membership.topic,
      offsets: [...(known?.offsets ?? []), { partition, offset: lowOf(next), metadata }],
    });
  }
  return [...groups.values()];
}

export interface GroupPlace {
  readonly topic: string;
  readonly group: string;
  /** The broker's names of both. */
  readonly name: string;
  readonly groupId: string;
  readonly partitions: readonly number[];
}

/**
 * By partition, what the group has settled. Waits while a transaction that would change it is not decided
 * (KIP-447), so a new reader never begins from offsets about to be replaced.
 */
export async function committedProgress(
  link: Link,
  state: StateTopic,
  { topic, group, name, groupId, partitions }: GroupPlace,
): Promise<readonly (readonly [partition: number, progress: ProgressState])[]> {
  const topics = [{ name, partitionIndexes: [...partitions] }];
  const answer = await link.ask(
    { kind: 'coordinator', of: 'group', id: groupId },
    offsetFetchV8.api,
    [[{ groupId, memberEpoch: NO_EPOCH, topics }], ONLY_DECIDED],
  );
  const committed = answer.groups.flatMap((of) => of.topics.flatMap((each) => each.partitions));
  return committed.map(({ partitionIndex, committedOffset, metadata }) => {
    // Too long to fit with the offset: then it is in the state topic.
    const text =
      metadata === IN_STATE
        ? state.get<string>(unsettledKey(topic, group, partitionIndex))
        : metadata;
    return [partitionIndex, decodeProgress(Math.max(0, Number(committedOffset)), text ?? '')];
  });
}
