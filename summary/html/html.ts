/**
 * HTML as text, escaped. Much of a report was written by a model, so it counts as hostile: nothing reaches
 * the page except through `html` (which escapes every value that is not `Html` itself) or `trusted`
 * constants.
 */
import { replaceHidden } from '../../base/text/index.ts';

/** Text that is safe to put between tags and into quoted attributes. */
export interface Html {
  readonly markup: string;
}

type Value = Html | string | number | null | readonly Html[];

/** A template whose values are escaped; null is omitted. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const markup = parts.reduce((text, part, index) => text + markupOf(values[index - 1]!) + part);
  return { markup };
}

/** Markup of our own. Never for anything that came from a record. */
export function trusted(markup: string): Html {
  return { markup };
}

function markupOf(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value));
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Also characters that could make text look like other text. */
function escaped(text: string): string {
  const markup = text.replace(/[&<>"']/g, (character) => entities[character]!);
  return replaceHidden(markup, (character) =>
    character === '\n' || character === '\t' ? character : '\ufffd',
  );
}
