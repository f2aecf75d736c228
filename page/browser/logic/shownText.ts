/**
 * Text that a model or a tool wrote, as the page shows it: characters that cannot be seen, or that could make
 * text look like other text, become marks such as `⟨U+202E⟩`. Offsets into the text can be turned into
 * offsets into what is shown.
 */

/**
 * Control characters but tab and line feed, zero-width characters, separators of lines, and turns of
 * direction.
 */
const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export interface ShownText {
  readonly text: string;
  /** Where the marks are in `text`. */
  readonly marks: readonly { readonly start: number; readonly end: number }[];
  /** Where the character at `offset` of the original is in `text`. */
  at(offset: number): number;
  /** Which character of the original is at `place` of `text`. */
  from(place: number): number;
}

export function shownText(original: string): ShownText {
  const marks: { start: number; end: number }[] = [];
  /** Offset in the original after each mark, and how far what follows has moved. */
  const moved: { readonly behind: number; readonly by: number }[] = [];
  let by = 0;
  const text = original.replace(unseen, (character, offset: number) => {
    const mark = `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`;
    const start = offset + by;
    marks.push({ start, end: start + mark.length });
    by += mark.length - character.length;
    moved.push({ behind: offset + character.length, by });
    return mark;
  });
  return {
    text,
    marks,
    at: (offset) => offset + (lastAt(moved, ({ behind }) => behind <= offset)?.by ?? 0),
    from: (place) =>
      place - (lastAt(moved, ({ behind, by: moves }) => behind + moves <= place)?.by ?? 0),
  };
}

/** The last for which `holds`, if it holds for the first ones and not for the others. */
function lastAt<T>(items: readonly T[], holds: (item: T) => boolean): T | undefined {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(items[middle]!)) low = middle + 1;
    else high = middle;
  }
  return items[low - 1];
}
