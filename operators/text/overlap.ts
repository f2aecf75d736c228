/**
 * F1 of an answer against its references: how many words they share (ET-Agent §1.9).
 *
 * Three numbers, because three stages compute different ones: `rolloutF1` splits at white space only,
 * evaluation (`evaluationForm`, metrics/sample.ts) drops articles for questions of knowledge, and `rewardF1`
 * deletes every space in its last normalisation, which makes it an exact match (0 or 1). `wordF1` with
 * `plainWords` is the F1 that the papers describe.
 */
import { strip, withoutArticles, withoutPunctuation, words } from './characters.ts';
import { LatexError, latexNormalForm } from './latex.ts';

/** Number of words that two lists share, each as often as in the list that has fewer of it. */
export function sharedWords(a: readonly string[], b: readonly string[]): number {
  const left = new Map<string, number>();
  for (const word of a) left.set(word, (left.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of b) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    left.set(word, count - 1);
    shared++;
  }
  return shared;
}

/** F1 of two word lists as the harmonic mean of precision and recall, in that order of operations. */
export function wordF1(prediction: readonly string[], reference: readonly string[]): number {
  const shared = sharedWords(prediction, reference);
  if (shared === 0) return 0;
  const precision = shared / prediction.length;
  const recall = shared / reference.length;
  return (2 * precision * recall) / (precision + recall);
}

/** Lower case, no punctuation, no articles: the words that question answering compares. */
export function plainWords(text: string): string[] {
  return words(withoutArticles(withoutPunctuation(text.toLowerCase())));
}

/** Best F1 over the references on lower-case words; a missing prediction counts as an empty one. */
export function rolloutF1(prediction: string | null, references: readonly string[]): number {
  const predicted = words((prediction ?? '').toLowerCase());
  return best(references, (reference) => {
    const expected = words(reference.toLowerCase());
    const total = predicted.length + expected.length;
    return total === 0 ? 0 : (2 * sharedWords(predicted, expected)) / total;
  });
}

/** How evaluation normalises a text before it compares. Punctuation stays. */
export function evaluationForm(text: string, articles: 'kept' | 'removed'): string {
  const lower = strip(text.toLowerCase());
  return words(articles === 'removed' ? withoutArticles(lower) : lower).join(' ');
}

/** The reward's "F1": 1 when a reference has the same normal form and that is not empty, otherwise 0. */
export function rewardF1(prediction: string, references: readonly string[]): number {
  const predicted = rewardForm(prediction);
  return references.some((reference) => predicted !== '' && rewardForm(reference) === predicted)
    ? 1
    : 0;
}

function rewardForm(text: string): string {
  const plain = plainWords(text).join(' ');
  try {
    return latexNormalForm(plain, 'reward', { unwrapText: true });
  } catch (error) {
    if (error instanceof LatexError) return plain;
    throw error;
  }
}

function best(references: readonly string[], score: (reference: string) => number): number {
  return references.reduce((most, reference) => Math.max(most, score(reference)), 0);
}
