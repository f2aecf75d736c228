/**
 * Finds stop texts in what a row generates, token by token, by their bytes: a tag may be cut anywhere, a
 * character too.
 *
 * What the prompt ends with does not count, but for what the caller says was generated before
 * (`GenerateRequest.stopTextsFrom`).
 */
import { byteText, type TokenBytes, utf8 } from './tokenBytes.ts';

interface Stop {
  readonly text: string;
  readonly bytes: string;
}

export class StopTexts {
  readonly #stops: readonly Stop[];
  readonly #tokens: TokenBytes | undefined;
  /** How many earlier bytes a stop text may begin in: one fewer than the longest has. */
  readonly #tailMax: number;
  /** The end of what was generated. */
  #tail = '';

  /** `tokens` may be left out if there are no stop texts. */
  constructor(stops: readonly string[], tokens: TokenBytes | undefined) {
    this.#stops = stops.map((text) => ({ text, bytes: utf8(text) }));
    this.#tokens = tokens;
    this.#tailMax = this.#stops.reduce((most, { bytes }) => Math.max(most, bytes.length), 1) - 1;
  }

  /** Takes the next token; returns the stop text that it completes (the first to end in it), if any. */
  completedBy(token: number): string | undefined {
    if (this.#stops.length === 0 || this.#tokens === undefined) return undefined;
    const text = this.#tail + byteText(this.#tokens, token);
    this.#tail = this.#tailMax === 0 ? '' : text.slice(-this.#tailMax);
    let first: { readonly text: string; readonly end: number } | undefined;
    for (const stop of this.#stops) {
      const at = text.indexOf(stop.bytes);
      const end = at + stop.bytes.length;
      if (at >= 0 && (first === undefined || end < first.end)) first = { text: stop.text, end };
    }
    return first?.text;
  }
}
