/** What every stage, topic and process of a run is doing now. */

/**
 * The activity of every stage; also the event `mill`. For a run that has ended, or at a past moment: its last
 * report, with rates over its whole life.
 */
export interface Mill {
  readonly run: string;
  readonly atMs: number;
  /** Whether rates are current (two reports were seen) or over the run's whole life. */
  readonly rates: 'now' | 'life' | 'none';
  /** One sentence: the bottleneck, or what is wrong. */
  readonly health: Health;
  readonly step: number | null;
  readonly version: number | null;
  readonly policyLag: number | null;
  readonly policyLagMax: number | null;
  readonly reward: number | null;
  readonly tokensPerSecond: { readonly generated: number | null; readonly trained: number | null };
  readonly sources: readonly MillSource[];
  /** In the order in which records flow. */
  readonly stages: readonly MillStage[];
  readonly topics: readonly MillTopic[];
  readonly workers: readonly MillWorker[];
  readonly weights: {
    readonly version: number;
    readonly step: number;
    readonly atMs: number;
  } | null;
  /**
   * Tool calls since this server began to follow the run, at most the last 5 minutes; null before the first.
   */
  readonly tools: {
    readonly perSecond: number;
    readonly failed: number;
    readonly cached: number;
    readonly p95Ms: number | null;
  } | null;
  /** Groups judged and kept during the same time. */
  readonly selection: { readonly judged: number; readonly kept: number } | null;
}

export interface Health {
  readonly level: 'good' | 'note' | 'bad';
  readonly text: string;
  /** The stage that limits the run, if one does. */
  readonly stage: string | null;
}

/**
 * How the time of a stage divides; the four add to one. Mean over its processes. `starved`: it has no work
 * and waits for input. `blocked`: all its work is finished and waits for the log to take it. `paced`: all its
 * work waits for the policy version that it needs. `busy`: the rest.
 */
export interface Shares {
  readonly busy: number;
  readonly starved: number;
  readonly blocked: number;
  readonly paced: number;
}

export interface MillStage {
  readonly name: string;
  readonly from: string;
  /** '' when it writes to no topic. */
  readonly to: string;
  /** `Fine-tuning`, `RL`, …; empty if it serves all phases. */
  readonly phase: string;
  /** Whether its phase is done, at least for now, while the run goes on. */
  readonly finished: boolean;
  /** Null at a past step: what a stage had done by then is not kept, and the numbers below are 0. */
  readonly shares: Shares | null;
  /** Part of `busy` with every slot taken. */
  readonly full: number;
  readonly in: number;
  readonly out: number;
  readonly inPerSecond: number;
  readonly outPerSecond: number;
  readonly inflight: number;
  readonly inflightMax: number;
  /** Those in progress that wait in open groups. */
  readonly waiting: number;
  /**
   * Records of `from` that it has not settled, and how long they take at its rate; null if it stands still.
   */
  readonly lag: number;
  readonly lagMs: number | null;
  /** How long the oldest record has been in progress; `isOld` = unusually long. */
  readonly oldestMs: number;
  readonly isOld: boolean;
  /** Processes that run it. */
  readonly processes: number;
}

export interface MillSource {
  readonly name: string;
  readonly to: string;
  /** Null at a past step: not kept. */
  readonly items: number | null;
  readonly perSecond: number;
  readonly done: boolean;
  /** Share of the time that the topic's readers held it back. */
  readonly held: number;
}

export interface MillTopic {
  readonly name: string;
  readonly about: string;
  readonly records: number;
  /** Null at a past step: its size then is not kept. */
  readonly bytes: number | null;
  /** Since this server began to follow the run; null before the second look. */
  readonly perSecond: number | null;
  /** When its newest record was appended; null if it has none or this was not checked. */
  readonly lastMs: number | null;
  /** Unsettled records by reading group. */
  readonly lag: Readonly<Record<string, number>>;
  /** Records per second, one number every 5 s, at most 60 (5 minutes), oldest first. */
  readonly spark: readonly number[];
}

export interface MillWorker {
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
  readonly memoryBytes: number;
  readonly silentMs: number;
  readonly ended: boolean;
}
