/** What the processes of `bench:gateway` tell each other. */

/** What the gateway's process is started with. */
export interface HostOptions {
  /** Of the policy's tokenizer and chat template. */
  readonly folder: string;
  /** URL of the model's server. */
  readonly model: string;
  /** Its name of the model. */
  readonly servedAs: string;
  /** Where its log may be written. */
  readonly log: string;
}

/** Requests to the gateway's process, each answered by one message. */
export type Asked =
  /** Opens sessions; the last ones are closed. */
  | { readonly kind: 'open'; readonly count: number }
  /** What it has used so far; `collect` = after a collection, which is counted from then on. */
  | { readonly kind: 'used'; readonly collect: boolean };

/** Where the gateway listens, and the keys of its sessions. */
export interface Opened {
  readonly url: string;
  readonly keys: readonly string[];
}

export interface Used {
  /** Processor time, user and system. */
  readonly cpuMs: number;
  /** On the heap and in buffers, after a collection. */
  readonly liveBytes: number;
}

/** Conversations to hold. */
export interface Talk extends Opened {
  /** Model calls of each, from these in turn. */
  readonly calls: readonly number[];
}

export interface Talked {
  readonly ms: number;
  readonly calls: number;
  /** Tokens of all prompts. */
  readonly promptTokens: number;
  /** Tokens that the conversation with the most of them had asked for. */
  readonly longestTokens: number;
}

/** The model's server: how long it takes from now on, for each token that is asked for. */
export interface Pace {
  readonly tokenMs: number;
}
