/**
 * Reads JSON without losing anything that Python's reader keeps: `1.0` is not `1`, integers are exact, and
 * keys keep their order.
 *
 * JavaScript's own reader makes one number of both, rounds beyond 2**53, and moves keys such as "7" to the
 * front.
 */

/** A floating-point number that JavaScript would take for an integer: 1.0, -0.0, 1e21. */
export class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }

  toJSON(): number {
    return this.value;
  }
}

const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON's strings may not contain these
  /[\t\n\r ]*(?:([[\]{},:])|"((?:[^"\\\x00-\x1f]+|\\.)*)"|(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?|(true|false|null|NaN|-?Infinity))/suy;

const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/**
 * A JSON text as Python's `json.loads` reads it. Integers are numbers, or bigints beyond 2**53; other numbers
 * are numbers, or `Float` if they are whole; an object whose keys JavaScript would reorder is a Map.
 * Throws a SyntaxError.
 */
export function parseJson(text: string): unknown {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

class Reader {
  readonly #text: string;
  readonly #token = new RegExp(TOKEN.source, TOKEN.flags);

  constructor(text: string) {
    this.#text = text;
  }

  #next(): RegExpExecArray {
    const at = this.#token.lastIndex;
    return this.#token.exec(this.#text) ?? this.#refuse(at);
  }

  #refuse(at: number): never {
    throw new SyntaxError(`not JSON at character ${at}`);
  }

  /** A structural character. */
  #mark(...allowed: readonly string[]): string {
    const { index, 1: mark } = this.#next();
    return mark !== undefined && allowed.includes(mark) ? mark : this.#refuse(index);
  }

  end(): void {
    if (/[^\t\n\r ]/.test(this.#text.slice(this.#token.lastIndex)))
      this.#refuse(this.#token.lastIndex);
  }

  value(depth: number): unknown {
    const found = this.#next();
    if (depth > 900) this.#refuse(found.index);
    const [, mark, string, whole, fraction, exponent, word] = found;
    if (mark === '{') return this.#object(depth);
    if (mark === '[') return this.#array(depth);
    if (string !== undefined) return this.#string(string, found.index);
    if (whole !== undefined) return number(whole, fraction, exponent);
    return word === undefined ? this.#refuse(found.index) : WORDS.get(word);
  }

  #string(inside: string, at: number): string {
    try {
      return JSON.parse(`"${inside}"`) as string;
    } catch {
      return this.#refuse(at);
    }
  }

  #array(depth: number): readonly unknown[] {
    const items: unknown[] = [];
    if (this.#skip(']')) return items;
    do items.push(this.value(depth + 1));
    while (this.#mark(',', ']') === ',');
    return items;
  }

  #object(depth: number): unknown {
    const entries = new Map<string, unknown>();
    if (this.#skip('}')) return {};
    do {
      const key = this.#next();
      if (key[2] === undefined) this.#refuse(key.index);
      this.#mark(':');
      entries.set(this.#string(key[2], key.index), this.value(depth + 1));
    } while (this.#mark(',', '}') === ',');
    const moved = [...entries.keys()].some((key) => /^(?:0|[1-9]\d*)$/.test(key));
    return moved ? entries : Object.fromEntries(entries);
  }

  #skip(mark: string): boolean {
    const at = this.#token.lastIndex;
    if (this.#token.exec(this.#text)?.[1] === mark) return true;
    this.#token.lastIndex = at;
    return false;
  }
}

function number(whole: string, fraction = '', exponent = ''): number | bigint | Float {
  const value = Number(whole + fraction + exponent);
  if (fraction !== '' || exponent !== '') return Number.isInteger(value) ? new Float(value) : value;
  return Number.isSafeInteger(value) ? (Object.is(value, -0) ? 0 : value) : BigInt(whole);
}
