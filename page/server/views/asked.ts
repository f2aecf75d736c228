/** A request for a view of a run, and its answer: its data, and its bytes if it has any. */
import { MillraceError } from '../../../base/index.ts';
import type { groupsOf } from '../run/groups.ts';
import type { Moment } from '../run/moment.ts';
import type { RunView } from '../run/runView.ts';

export interface Asked {
  readonly view: RunView;
  readonly moment: Moment;
  /** The name at the end of the address; empty if there is none. */
  readonly id: string;
  readonly query: URLSearchParams;
  /** All groups of a question, or of one time that it was asked. */
  readonly groupsOf: typeof groupsOf;
  /** Opens other runs for comparison. */
  readonly others: Others;
}

export interface Others {
  withAll<T>(
    names: readonly string[],
    use: (views: readonly RunView[], missing: readonly string[]) => Promise<T>,
  ): Promise<T>;
}

/** What the file of a view exports. */
export interface ServedView {
  readonly data: (asked: Asked) => Promise<object>;
  /** Its data in another form, at the view's address with this ending. */
  readonly other?: {
    readonly ending: '.ndjson' | '/tokens.bin';
    readonly type: string;
    readonly body: (asked: Asked) => Promise<string | Uint8Array>;
  };
}

/** Separated by commas. */
export function listIn(query: URLSearchParams, name: string): string[] {
  return (query.get(name) ?? '').split(',').filter((one) => one !== '');
}

/** Fails with code `USAGE`. */
export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  throw new MillraceError('USAGE', `${name}= takes a number`);
}
