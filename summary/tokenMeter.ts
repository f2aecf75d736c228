/**
 * Tokens that the policy generated in the last half minute, from the rollouts as they are committed.
 *
 * A second's rollouts are one number, so memory does not grow with the rate.
 */
import type { Subscription } from 'rxjs';
import type { Log } from '../streams/index.ts';
import { type Rollout, topics } from '../topics/index.ts';

export const WINDOW_MS = 30_000;

export class TokenMeter {
  /** By second. */
  readonly #tokens = new Map<number, number>();
  #subscription: Subscription | null = null;
  #failed = false;

  /** Reads the rollouts of the last half minute, and those to come. */
  start(log: Log, nowMs: number): void {
    const from = { kind: 'time', atMs: nowMs - WINDOW_MS } as const;
    const rollouts$ = log.tap(topics.rollouts, {
      from,
      follow: true,
      unreadable: () => undefined,
    });
    this.#subscription = rollouts$.subscribe({
      next: ({ value, atMs }) => this.add(value, atMs),
      error: () => {
        this.#failed = true;
      },
    });
  }

  add(rollout: Rollout, atMs: number): void {
    const second = Math.floor(atMs / 1000);
    this.#tokens.set(second, (this.#tokens.get(second) ?? 0) + policyTokens(rollout));
  }

  /** Tokens per second; null if the rollouts cannot be read. */
  perSecond(nowMs: number): number | null {
    if (this.#failed) return null;
    const first = Math.floor((nowMs - WINDOW_MS) / 1000);
    let sum = 0;
    for (const [second, tokens] of this.#tokens) {
      if (second <= first) this.#tokens.delete(second);
      else sum += tokens;
    }
    return (1000 * sum) / WINDOW_MS;
  }

  stop(): void {
    this.#subscription?.unsubscribe();
  }
}

function policyTokens({ segments }: Rollout): number {
  return segments.reduce(
    (sum, { kind, start, end }) => sum + (kind === 'policy' ? end - start : 0),
    0,
  );
}
