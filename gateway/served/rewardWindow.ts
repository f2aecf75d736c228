/** How long rewards of a served session are waited for. */
export interface RewardWindow {
  /** From its end, in the time of rewards; 0 = none are waited for. */
  readonly rewardMs: number;
  /** How long a reward may be on its way: the watermark is so far behind what has come. */
  readonly delayMs: number;
}

/** When the watermark has passed the time in which rewards of a session that ended then count. */
export function overAt(endedMs: number, { rewardMs, delayMs }: RewardWindow): number {
  return endedMs + rewardMs + delayMs;
}
