/** A dialect that settings choose: a file, and a line in `all.ts`. */
import type { CallFaults, Declared, Dialect } from '../../operators/dialect/index.ts';

/** What a dialect is made for. */
export interface DialectPlace {
  /** Folder with `tokenizer.json` and a chat template. */
  readonly folder: string;
  readonly tools: readonly Declared[];
  /** The system prompt; '' = none. */
  readonly system: string;
  /** What to do on invalid calls, where calls are functions. */
  readonly faults: CallFaults;
}

/** How a dialect is made. */
export interface DialectKind {
  /** A call is a function with arguments, which may be invalid. */
  readonly callsFunctions: boolean;
  /** The system prompt of jobs that give none. */
  systemPrompt(tools: readonly Declared[]): string;
  /** Rejects with `TOKENIZER`, `CHAT_TEMPLATE` or `DIALECT`. */
  open(place: DialectPlace): Promise<Dialect>;
}
