/**
 * What a commit settles, as the offsets of its groups: the first unsettled record of each partition, and in the
 * metadata which ones behind it are settled (in the state topic when that is too long for it).
 */
import type { Hold } from './hold.ts';
import { encodeProgress, lowOf } from './partitionProgress.ts';
import { type CommitNote, type StateTopic, unsettledKey } from './stateTopic.ts';
import type { OffsetsOfGroup } from './transactor.ts';

export interface Settle {
  readonly hold: Hold;
  readonly offset: number;
}

/** Brokers take 4,096 bytes of metadata with an offset unless told otherwise. */
const METADATA_BYTES_MAX = 4_000;
const IN_STATE = 'm1@';

/** As a commit's note tells it. */
export function settledBy(settles: readonly Settle[]): CommitNote['settled'] {
  return [...byHold(settles)].map(([{ topic, group, partition }, offsets]) => {
    return [topic, group, partition, offsets] as const;
  });
}

function byHold(settles: readonly Settle[]): Map<Hold, number[]> {
  const offsetsOf = new Map<Hold, number[]>();
  for (const { hold, offset } of settles) {
    const offsets = offsetsOf.get(hold) ?? [];
    offsetsOf.set(hold, offsets);
    offsets.push(offset);
  }
  return offsetsOf;
}

/** What to commit for each group; progress that is too long for it goes to `entries`. */
export function offsetsOf(
  settles: readonly Settle[],
  entries: Map<string, unknown>,
): readonly OffsetsOfGroup[] {
  const groups = new Map<string, OffsetsOfGroup>();
  for (const [hold, offsets] of byHold(settles)) {
    const { membership, partition, topic, group } = hold;
    const next = hold.progress.after(offsets);
    let metadata = encodeProgress(next);
    if (metadata.length > METADATA_BYTES_MAX) {
      entries.set(unsettledKey(topic, group, partition), metadata);
      metadata = IN_STATE;
    }
    const known = groups.get(membership.groupId);
    groups.set(membership.groupId, {
      member: membership.identity,
      topic: membership.topic,
      offsets: [...(known?.offsets ?? []), { partition, offset: lowOf(next), metadata }],
    });
  }
  return [...groups.values()];
}

/** The metadata of a committed offset, looked up in the state topic when it was too long to stand there. */
export function metadataOf(
  state: StateTopic,
  place: { readonly topic: string; readonly group: string; readonly partition: number },
  metadata: string,
): string {
  if (metadata !== IN_STATE) return metadata;
  return state.get<string>(unsettledKey(place.topic, place.group, place.partition)) ?? '';
}
