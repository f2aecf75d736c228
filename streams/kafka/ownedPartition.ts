/**
 * A partition that this process owns: from when the group assigns it until it is released or revoked.
 */
import type { Membership } from './membership.ts';
import type { Raw } from './pages.ts';
import type { PartitionProgress } from './partitionProgress.ts';

export interface OwnedPartition {
  readonly membership: Membership;
  /** Our name of the topic. */
  readonly topic: string;
  readonly group: string;
  readonly partition: number;
  /** Settled by finished commits: it advances only once a commit is done. */
  readonly progress: PartitionProgress;
  /** Another process may own it: nothing of it is committed any more. */
  lost: boolean;
  /** Read from the broker, and not yet handed out; less than a page. */
  readonly waiting: Raw[];
  /** Where the next page begins. */
  next: number;
  /** Handed out by the present reader and not settled. */
  inflight: number;
  /** Of these: waiting in open groups, for records that may never come here. */
  waitingInGroups: number;
}
