/** The messages between the processes of `bench:gateway`. */

/** What the gateway's process is started with. */
export interface HostOptions {
  /** The folder of the policy's tokenizer and chat template. */
  readonly folder: string;
  /** The model server's address. */
  readonly model: string;
  /** What the server calls the model. */
  readonly servedAs: string;
  /** Where its log may be written. */
  readonly log: string;
}

/** Requests to the gateway's process, each answered by one message. */
export type Asked =
  /** Opens sessions and closes the previous ones. */
  | { readonly kind: 'open'; readonly count: number }
  /** What it has used so far; `collect` = collect garbage first, and count from then on. */
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
  /** Model calls of each conversation, taken from these in turn. */
  readonly calls: readonly number[];
}

export interface Talked {
  readonly ms: number;
  readonly calls: number;
  /** Tokens of all prompts. */
  readonly promptTokens: number;
  /** Tokens requested by the conversation that requested the most. */
  readonly longestTokens: number;
}

/** The model server: how long it takes from now on for each requested token. */
export interface Pace {
  readonly tokenMs: number;
}
