/** The functions that a question brings itself (`task.functions`), and those of the library that it names. */

import type { ToolDoc } from '../../../base/functions/index.ts';
import type { Question } from '../../../topics/index.ts';
import { functionOf } from './readLibrary.ts';

/**
 * Its own; anything that is not a function is left out (`functionFaults` reports it when the questions are
 * read).
 */
export function ownDocs({ task }: Pick<Question, 'task'>): readonly ToolDoc[] {
  return (task?.functions ?? []).flatMap((text) => {
    const doc = text.startsWith('{') ? functionOf(JSON.parse(text)) : null;
    return doc === null || 'reason' in doc ? [] : [doc];
  });
}

/** Everything it lists, in order; null = it lists nothing. */
export function listedDocs(
  { task }: Pick<Question, 'task'>,
  library: ReadonlyMap<string, ToolDoc>,
): readonly ToolDoc[] | null {
  const { functions = [] } = task ?? {};
  if (functions.length === 0) return null;
  return functions.flatMap((text) =>
    text.startsWith('{')
      ? ownDocs({ task: { ...task!, functions: [text] } })
      : (library.get(text) ?? []),
  );
}

/**
 * What is wrong with the functions of a question; null = nothing. `library` = whether the library has a
 * function with this name.
 */
export function functionFault(
  { task }: Pick<Question, 'task'>,
  library: (name: string) => boolean,
): string | null {
  for (const text of task?.functions ?? []) {
    if (!text.startsWith('{')) {
      if (library(text)) continue;
      return `names the function ${JSON.stringify(text)}, which is not in the library`;
    }
    const doc = functionOf(jsonOf(text));
    if ('reason' in doc)
      return `has a function that cannot be read: ${doc.field} ${doc.reason}`.trim();
  }
  return null;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
