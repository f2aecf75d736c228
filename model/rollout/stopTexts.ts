/**
 * Finds stop texts in what a row generates, token by token.
 *
 * Only generated tokens count: what the prompt ends with does not. The texts of tokens are joined as they are, which
 * is right for byte-level tokenizers; a character that is cut over two tokens matches nothing.
 */
export class StopTexts {
  readonly #stops: readonly string[];
  readonly #tokenTexts: readonly string[];
  /** The end of what was generated, one character short of the longest stop text. */
  #tail = '';

  /** `tokenTexts[id]` = the text of a token. */
  constructor(stops: readonly string[], tokenTexts: readonly string[]) {
    this.#stops = stops;
    this.#tokenTexts = tokenTexts;
  }

  /** Take the next token; the stop text that it completes (the first to end in it), if it does. */
  completedBy(token: number): string | undefined {
    if (this.#stops.length === 0) return undefined;
    const text = this.#tail + (this.#tokenTexts[token] ?? '');
    const longest = this.#stops.reduce((most, stop) => Math.max(most, stop.length), 0);
    this.#tail = longest > 1 ? text.slice(-(longest - 1)) : '';
    let first: { readonly stop: string; readonly end: number } | undefined;
    for (const stop of this.#stops) {
      const at = text.indexOf(stop);
      if (at >= 0 && (first === undefined || at + stop.length < first.end))
        first = { stop, end: at + stop.length };
    }
    return first?.stop;
  }
}
