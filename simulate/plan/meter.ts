/**
 * What a planned cluster spends its time on: one of a few things at every moment, added up over virtual time.
 */
import type { Clock } from '../../base/index.ts';

/** What is happening at a moment, in words for people. */
export const activities = [
  'training and generating',
  'training',
  'generating',
  'loading weights',
  'waiting for tools',
  'waiting for slow rollouts',
  'too few rollouts in flight',
  'nothing of these',
] as const;

export type Activity = (typeof activities)[number];

interface State {
  readonly training: boolean;
  readonly loading: boolean;
  /** Of all servers, tokens a second. */
  readonly speed: number;
  readonly requests: number;
  readonly calls: number;
}

export interface MeterLimits {
  readonly clock: Clock;
  /** What all servers can generate, tokens a second. */
  readonly fullSpeed: number;
  /** Rollouts that may be in flight. */
  readonly inFlightMax: number;
}

/** Servers that do less than this share of what they can are not what others wait for. */
const BUSY = 0.5;
/** With more than this share of the allowed rollouts, no more would be admitted. */
const FULL = 0.9;

export class Meter {
  readonly #limits: MeterLimits;
  #state: State = { training: false, loading: false, speed: 0, requests: 0, calls: 0 };
  #sinceMs: number;
  #fromMs: number;
  #ms = new Map<Activity, number>();
  #tokens = 0;
  #inFlightMs = 0;
  #trainingMs = 0;

  constructor(limits: MeterLimits) {
    this.#limits = limits;
    this.#sinceMs = limits.clock.now();
    this.#fromMs = this.#sinceMs;
  }

  set(change: Partial<State>): void {
    this.#add();
    this.#state = { ...this.#state, ...change };
  }

  call(more: 1 | -1): void {
    this.set({ calls: this.#state.calls + more });
  }

  /** Starts counting. */
  begin(): void {
    this.#add();
    this.#fromMs = this.#sinceMs;
    this.#ms = new Map();
    [this.#tokens, this.#inFlightMs, this.#trainingMs] = [0, 0, 0];
  }

  read() {
    this.#add();
    const ms = Math.max(1, this.#sinceMs - this.#fromMs);
    const shares = activities.map((name) => [name, (this.#ms.get(name) ?? 0) / ms] as const);
    return {
      seconds: ms / 1000,
      shares: Object.fromEntries(shares) as Readonly<Record<Activity, number>>,
      /** Tokens generated per second. */
      generated: (1000 * this.#tokens) / ms,
      inFlight: this.#inFlightMs / ms,
      training: this.#trainingMs / ms,
    };
  }

  #add(): void {
    const nowMs = this.#limits.clock.now();
    const ms = nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    if (ms <= 0) return;
    const { speed, requests, calls, training } = this.#state;
    const activity = this.#activity();
    this.#ms.set(activity, (this.#ms.get(activity) ?? 0) + ms);
    this.#tokens += (speed * ms) / 1000;
    this.#inFlightMs += (requests + calls) * ms;
    if (training) this.#trainingMs += ms;
  }

  #activity(): Activity {
    const { training, loading, speed, requests, calls } = this.#state;
    const { fullSpeed, inFlightMax } = this.#limits;
    const busy = speed >= BUSY * fullSpeed;
    if (training) return busy ? 'training and generating' : 'training';
    if (busy) return 'generating';
    if (loading) return 'loading weights';
    if (requests + calls === 0) return 'nothing of these';
    if (calls > requests) return 'waiting for tools';
    const full = requests + calls >= FULL * inFlightMax;
    return full ? 'too few rollouts in flight' : 'waiting for slow rollouts';
  }
}
