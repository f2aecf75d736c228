/** A dialect that settings can choose: a file, and a line in `all.ts`. */
import type { CallFaults, Declared, Dialect } from '../../operators/dialect/index.ts';

/** What a dialect is built from. */
export interface DialectPlace {
  /** Folder with `tokenizer.json` and a chat template. */
  readonly folder: string;
  readonly tools: readonly Declared[];
  /** The system prompt; '' = none. */
  readonly system: string;
  /** What to do about invalid calls, if calls are functions. */
  readonly faults: CallFaults;
}

/** How to build a dialect. */
export interface DialectKind {
  /** A call is a function with arguments, which may be invalid. */
  readonly callsFunctions: boolean;
  /** The system prompt if a job gives none. */
  systemPrompt(tools: readonly Declared[]): string;
  /** Rejects with `TOKENIZER`, `CHAT_TEMPLATE` or `DIALECT`. */
  open(place: DialectPlace): Promise<Dialect>;
}
