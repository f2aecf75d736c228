/**
 * The quotes of a CSV record, without reading its cells: how many there are, and whether a parser would
 * refuse it.
 *
 * Guarantees: `isMalformed` says about a text what fast-csv says (test/sources), in one pass: a file in which
 * every record is malformed takes no longer to read than another.
 */

export function quotesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) count++;
  return count;
}

/**
 * Whether the text is not one record: a cell begins with a quote and goes on after the one that closes it,
 * or a line ends outside quotes.
 */
export function isMalformed(text: string): boolean {
  if (!text.includes('"')) return /[\r\n]/.test(text);
  for (let at = 0; ; at++) {
    at = afterBlanks(text, at);
    if (text[at] === '"') {
      at = afterQuoted(text, at + 1);
      if (at < 0) return true;
      at = afterBlanks(text, at);
      if (at < text.length && text[at] !== ',') return true;
    } else {
      while (at < text.length && text[at] !== ',') {
        if (text[at] === '\n' || text[at] === '\r') return true;
        at++;
      }
    }
    if (at >= text.length) return false;
  }
}

const BLANK = /[^\S\r\n]/;

function afterBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && BLANK.test(text[at]!)) at++;
  return at;
}

/** The index after the closing quote; two quotes are one within. -1 if none closes. */
function afterQuoted(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at + 1;
  }
  return -1;
}
