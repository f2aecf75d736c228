/** How long to wait for the rewards of a served session. */
export interface RewardWindow {
  /** From its end, by the rewards' own times; 0 = do not wait. */
  readonly rewardMs: number;
  /** How long a reward may take to arrive: the watermark is this far behind the newest one. */
  readonly delayMs: number;
}

/** When the watermark has passed the time in which rewards of a session that ended then count. */
export function overAt(endedMs: number, { rewardMs, delayMs }: RewardWindow): number {
  return endedMs + rewardMs + delayMs;
}
