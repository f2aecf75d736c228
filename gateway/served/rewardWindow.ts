/** How long to wait for the rewards of a served session. */
export interface RewardWindow {
  /** Counted from its end, in the rewards' own times; 0 = do not wait. */
  readonly rewardMs: number;
  /** How late a reward may arrive: the watermark stays this far behind the newest time. */
  readonly delayMs: number;
}

/** Once the watermark passes this, no reward counts for a session that ended then. */
export function overAt(endedMs: number, { rewardMs, delayMs }: RewardWindow): number {
  return endedMs + rewardMs + delayMs;
}
