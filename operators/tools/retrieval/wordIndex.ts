/**
 * An index of the words of many texts, and BM25+ over it: postings in flat arrays, so that a million passages
 * fit and a query that has "the" in it takes milliseconds.
 *
 * Words are runs of characters that are neither white space nor punctuation, in lower case; no word is left
 * out and none is stemmed. Constants as in the search tool (k 1.2, b 0.7, d 0.5). Sums are made in the
 * order of the query's words, so a score is the same on every machine.
 */

const K = 1.2;
const B = 0.7;
const D = 0.5;
const BETWEEN = /[\s\p{Z}\p{P}]+/u;
/** Postings gathered before they are stored. */
const CHUNK = 1 << 20;
/** More occurrences of a word in a text count as this many. */
const COUNT_MAX = 255;

interface Chunk {
  readonly words: Uint32Array;
  readonly rows: Uint32Array;
  readonly counts: Uint8Array;
  size: number;
}

/** A text that was found. */
export interface FoundRow {
  readonly row: number;
  readonly score: number;
}

/** Takes texts, then makes the index. */
export class WordIndexBuilder {
  readonly #words = new Map<string, number>();
  readonly #chunks: Chunk[] = [];
  /** Words of each text. */
  readonly #lengths: number[] = [];

  /** Adds the next text; rows count from 0. */
  add(text: string): void {
    const row = this.#lengths.length;
    const counts = new Map<number, number>();
    let length = 0;
    for (const word of wordsOf(text)) {
      length++;
      const known = this.#words.get(word);
      const id = known ?? this.#words.size;
      if (known === undefined) this.#words.set(word, id);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    this.#lengths.push(length);
    for (const [word, count] of counts) this.#post(word, row, count);
  }

  #post(word: number, row: number, count: number): void {
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || chunk.size === CHUNK) {
      const [words, rows] = [new Uint32Array(CHUNK), new Uint32Array(CHUNK)];
      chunk = { words, rows, counts: new Uint8Array(CHUNK), size: 0 };
      this.#chunks.push(chunk);
    }
    chunk.words[chunk.size] = word;
    chunk.rows[chunk.size] = row;
    chunk.counts[chunk.size] = Math.min(count, COUNT_MAX);
    chunk.size++;
  }

  /** What was added, by words. Nothing can be added afterwards. */
  built(): WordIndex {
    const starts = new Uint32Array(this.#words.size + 1);
    for (const { words, size } of this.#chunks) {
      for (let i = 0; i < size; i++) starts[words[i]! + 1]!++;
    }
    for (let word = 0; word < this.#words.size; word++) starts[word + 1]! += starts[word]!;
    const total = starts[this.#words.size]!;
    const [rows, counts, next] = [new Uint32Array(total), new Uint8Array(total), starts.slice()];
    // Each chunk is freed as soon as it is copied.
    for (let chunk = this.#chunks.shift(); chunk !== undefined; chunk = this.#chunks.shift()) {
      for (let i = 0; i < chunk.size; i++) {
        const at = next[chunk.words[i]!]!++;
        rows[at] = chunk.rows[i]!;
        counts[at] = chunk.counts[i]!;
      }
    }
    return new WordIndex({
      ...{ words: this.#words, starts, rows, counts },
      lengths: Uint32Array.from(this.#lengths),
    });
  }
}

interface Postings {
  /** Words by number. */
  readonly words: ReadonlyMap<string, number>;
  /** Where the postings of each word start. */
  readonly starts: Uint32Array;
  readonly rows: Uint32Array;
  readonly counts: Uint8Array;
  readonly lengths: Uint32Array;
}

/** Finds texts by their words. */
export class WordIndex {
  readonly #postings: Postings;
  /** The effect of each text's length on its counts. */
  readonly #norms: Float64Array;
  /** For each text and the current query; all 0 in between. */
  readonly #scores: Float64Array;

  constructor(postings: Postings) {
    const { lengths } = postings;
    this.#postings = postings;
    const mean = lengths.reduce((sum, length) => sum + length, 0) / (lengths.length || 1);
    this.#norms = Float64Array.from(lengths, (length) => K * (1 - B + (B * length) / mean));
    this.#scores = new Float64Array(lengths.length);
  }

  /**
   * The best `top` texts that contain a word of the query, best first; equal scores in the order of `before`.
   */
  find(query: string, top: number, before: (a: number, b: number) => boolean): FoundRow[] {
    const scores = this.#scores;
    const found: number[] = [];
    for (const word of wordsOf(query)) this.#add(word, found);
    const best: number[] = [];
    const better = (a: number, b: number): boolean =>
      scores[a]! > scores[b]! || (scores[a] === scores[b] && before(a, b));
    for (const row of found) {
      if (best.length === top && !better(row, best[top - 1]!)) continue;
      insert(best, row, better);
      if (best.length > top) best.pop();
    }
    const hits = best.map((row) => ({ row, score: scores[row]! }));
    for (const row of found) scores[row] = 0;
    return hits;
  }

  /** Adds a word's contribution to each text; rows with their first score go into `found`. */
  #add(word: string, found: number[]): void {
    const { words, starts, rows, counts } = this.#postings;
    const [norms, scores] = [this.#norms, this.#scores];
    const id = words.get(word);
    if (id === undefined) return;
    const [start, end] = [starts[id]!, starts[id + 1]!];
    const idf = Math.log(1 + (scores.length - (end - start) + 0.5) / (end - start + 0.5));
    for (let i = start; i < end; i++) {
      const row = rows[i]!;
      const count = counts[i]!;
      if (scores[row] === 0) found.push(row);
      scores[row]! += idf * (D + (count * (K + 1)) / (count + norms[row]!));
    }
  }
}

/** Inserts a row into those already in order. */
function insert(sorted: number[], row: number, better: (a: number, b: number) => boolean): void {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (better(sorted[middle]!, row)) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, row);
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(BETWEEN)
    .filter((word) => word !== '');
}
