/** What a source yields. */
import type { DeadLetter } from './deadLetters.ts';

/** What a source yields: a record, or why one could not be read. */
export type SourceItem<T> = { readonly value: T } | { readonly deadLetter: DeadLetter };
