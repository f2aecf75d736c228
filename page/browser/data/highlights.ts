/**
 * Colours of text without elements for them: the CSS Custom Highlight API. A browser that lacks it
 * (before Chrome 105, Safari 17.2, Firefox 140) shows the text without colours.
 */

/** Names that the style knows. */
export const names = [
  ...Array.from({ length: 7 }, (_, i) => `level${i + 1}`),
  ...Array.from({ length: 6 }, (_, i) => `version${i}`),
  'top',
  'chosen',
  'mark',
  'think',
  'answer',
  'tool',
  'result',
] as const;

export const canHighlight =
  typeof CSS !== 'undefined' && 'highlights' in CSS && typeof StaticRange !== 'undefined';

/** A text node, and where in the text of its turn it begins. */
export interface Piece {
  readonly node: Text;
  readonly start: number;
}

/** Ranges over [start, end) of a text made of these pieces. */
export function rangesOf(pieces: readonly Piece[], start: number, end: number): StaticRange[] {
  const ranges: StaticRange[] = [];
  for (const { node, start: at } of pieces) {
    const from = Math.max(0, start - at);
    const to = Math.min(node.length, end - at);
    if (from >= to) continue;
    ranges.push(
      new StaticRange({
        startContainer: node,
        startOffset: from,
        endContainer: node,
        endOffset: to,
      }),
    );
  }
  return ranges;
}

/** Replaces all highlights of the given names. */
export function highlight(
  ranges: ReadonlyMap<string, readonly StaticRange[]>,
  of: readonly string[],
): void {
  if (!canHighlight) return;
  for (const name of of) {
    const mine = ranges.get(name) ?? [];
    if (mine.length === 0) CSS.highlights.delete(name);
    else CSS.highlights.set(name, new Highlight(...mine));
  }
}
