/**
 * What a page says around a search's snippet (the papers' deep search): the sentence that shares most words
 * with the snippet, with a few thousand characters on both sides; the beginning of the page if no sentence is
 * similar. Linear in the page.
 */
import { firstCodePoints, withoutPunctuation, words } from '../../text/characters.ts';

/** How much of a page is searched, in code points. */
const LOOKED_THROUGH = 50_000;
/** A sentence that shares less with the snippet is not its source. */
const F1_MIN = 0.2;

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

/** The context of `snippet` in `text`, with `charactersMax` code points on each side (3000 in the papers). */
export function snippetContext(text: string, snippet: string, charactersMax: number): string {
  const best = likestSentence(firstCodePoints(text, LOOKED_THROUGH), snippet);
  const at = best === null ? -1 : text.indexOf(best);
  if (best === null || at < 0) return firstCodePoints(text, 2 * charactersMax);
  const before = lastCodePoints(text.slice(Math.max(0, at - 2 * charactersMax), at), charactersMax);
  return before + best + firstCodePoints(text.slice(at + best.length), charactersMax);
}

/** The first of the sentences that share most words with the snippet; null = none shares enough. */
function likestSentence(text: string, snippet: string): string | null {
  const sought = wordSet(withoutMarks(snippet));
  let best: string | null = null;
  let highest = F1_MIN;
  for (const { segment } of sentences.segment(text)) {
    const sentence = segment.trim();
    const f1 = overlap(wordSet(sentence), sought);
    if (f1 > highest) [best, highest] = [sentence, f1];
  }
  return best;
}

/** Without the marks around matches. */
function withoutMarks(snippet: string): string {
  return snippet.replaceAll('<b>', '').replaceAll('</b>', '');
}

function wordSet(text: string): ReadonlySet<string> {
  return new Set(words(withoutPunctuation(text.toLowerCase())));
}

/** F1 of two sets. */
function overlap(own: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of own) if (other.has(word)) shared++;
  return shared === 0 ? 0 : (2 * shared) / (own.size + other.size);
}

function lastCodePoints(text: string, max: number): string {
  let start = text.length;
  for (let count = 0; count < max && start > 0; count++) {
    const low = text.charCodeAt(start - 1);
    const high = start > 1 ? text.charCodeAt(start - 2) : 0;
    start -= low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff ? 2 : 1;
  }
  return text.slice(start);
}
