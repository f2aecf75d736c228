/** What the setting `questions` may name besides a finite file: a kind from `all.ts`. */
import * as all from './all.ts';
import type { EndlessKind, SourceOptions } from './endlessKind.ts';
import type { EndlessQuestions } from './endlessQuestions.ts';

const kinds: readonly EndlessKind[] = Object.values(all);

/** How to write each of them. */
export const endlessForms = kinds.map(({ form }) => form).join(', ');

/** Whether the setting names endless questions. */
export function namesEndless(setting: string): boolean {
  return kinds.some((kind) => kind.names(setting));
}

/** The questions that the setting names. Fails with `USAGE` or `QUESTIONS_FILE`. */
export function endlessFrom(setting: string, options: SourceOptions): EndlessQuestions {
  const kind = kinds.find((one) => one.names(setting));
  if (kind === undefined) throw new Error(`${setting} does not name endless questions`);
  return kind.open(setting, options);
}
