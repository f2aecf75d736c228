/**
 * Cuts a template into tokens as Jinja does with trim_blocks and lstrip_blocks, the settings of transformers:
 * the line end after a block is dropped, and so is the white space before a block at the start of its line.
 */
import { fail, unsupported } from './failure.ts';
import { endOf, SPACE } from './strings.ts';

export interface Token {
  /** `data`, `name`, `string`, `integer`, `float`, an operator as it is written, or the end of something. */
  readonly type: string;
  /** The text; for a string its content, for a number its digits. */
  readonly value: string;
  readonly line: number;
}

const WS = `[${SPACE}]`;
const ROOT = /\{%([-+]?)|\{\{([-+]?)|\{#([-+]?)/g;
const RAW = new RegExp(`\\{%[-+]?${WS}*raw${WS}*(?:-%\\}${WS}*|%\\})`, 'y');
const END_RAW = new RegExp(`\\{%([-+]?)${WS}*endraw${WS}*(?:\\+%\\}|-%\\}${WS}*|%\\}\\n?)`, 'g');
const END_COMMENT = new RegExp(`\\+#\\}|-#\\}${WS}*|#\\}\\n?`, 'g');
const END_BLOCK = new RegExp(`\\+%\\}|-%\\}${WS}*|%\\}\\n?`, 'y');
const END_VARIABLE = new RegExp(`-\\}\\}${WS}*|\\}\\}`, 'y');
const BLANK = new RegExp(`^${WS}*$`);

const INSIDE: readonly (readonly [string, RegExp])[] = [
  ['space', new RegExp(`${WS}+`, 'y')],
  ['float', /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy],
  ['integer', /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy],
  ['name', /[\p{ID_Continue}_]+/uy],
  ['string', /'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"/sy],
  ['operator', /\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}><=.:|,;]/y],
];

const CLOSES: Readonly<Record<string, string>> = { '{': '}', '(': ')', '[': ']' };

/** The tokens of a template. Fails with the line if it cannot be read. */
export function lex(source: string): readonly Token[] {
  const lexer = new Lexer(source.replace(/\r\n?/g, '\n').replace(/\n$/, ''));
  while (lexer.root());
  return lexer.tokens;
}

class Lexer {
  readonly tokens: Token[] = [];
  readonly #source: string;
  #at = 0;
  #line = 1;
  /** Whether the last thing read ended a line. */
  #lineStarts = true;

  constructor(source: string) {
    this.#source = source;
  }

  /** Read data up to the next tag and the tag; false at the end. */
  root(): boolean {
    ROOT.lastIndex = this.#at;
    const found = ROOT.exec(this.#source);
    if (!found) {
      this.#data(this.#source.slice(this.#at));
      return false;
    }
    const sign = found[1] ?? found[2] ?? found[3] ?? '';
    this.#data(this.#source.slice(this.#at, found.index), sign, found[2] !== undefined);
    this.#at = found.index;
    const raw = found[1] === undefined ? null : this.#match(RAW);
    if (raw !== null) this.#raw(raw);
    else if (found[3] !== undefined) this.#comment(found[0]);
    else if (found[1] !== undefined) this.#tag(found[0], 'block', END_BLOCK);
    else this.#tag(found[0], 'variable', END_VARIABLE);
    return true;
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#source)?.[0] ?? null;
  }

  #pass(text: string): void {
    this.#at += text.length;
    for (const character of text) if (character === '\n') this.#line++;
    this.#lineStarts = text.endsWith('\n');
  }

  #push(type: string, value: string): void {
    this.tokens.push({ type, value, line: this.#line });
  }

  /** Template text before a tag with this sign. */
  #data(text: string, sign = '+', variable = false): void {
    let kept = text;
    if (sign === '-') kept = text.slice(0, endOf(text));
    else if (sign !== '+' && !variable) {
      const start = text.lastIndexOf('\n') + 1;
      if ((start > 0 || this.#lineStarts) && BLANK.test(text.slice(start)))
        kept = text.slice(0, start);
    }
    if (kept !== '') this.#push('data', kept);
    for (const character of text) if (character === '\n') this.#line++;
  }

  #comment(open: string): void {
    const line = this.#line;
    this.#pass(open);
    END_COMMENT.lastIndex = this.#at;
    const end = END_COMMENT.exec(this.#source) ?? fail('Missing end of comment tag', line);
    this.#pass(this.#source.slice(this.#at, end.index + end[0].length));
  }

  #raw(open: string): void {
    const line = this.#line;
    this.#pass(open);
    END_RAW.lastIndex = this.#at;
    const end = END_RAW.exec(this.#source) ?? fail('Missing end of raw directive', line);
    this.#data(this.#source.slice(this.#at, end.index), end[1]);
    this.#at = end.index;
    this.#pass(end[0]);
  }

  #tag(open: string, kind: 'block' | 'variable', end: RegExp): void {
    this.#push(`${kind}_begin`, open);
    this.#pass(open);
    const brackets: string[] = [];
    for (;;) {
      const closing = brackets.length === 0 ? this.#match(end) : null;
      if (closing !== null) {
        this.#push(`${kind}_end`, closing);
        this.#pass(closing);
        return;
      }
      this.#inside(brackets);
    }
  }

  /** One token inside a tag. */
  #inside(brackets: string[]): void {
    for (const [type, pattern] of INSIDE) {
      const text = this.#match(pattern);
      if (text === null) continue;
      if (type === 'operator') this.#balance(text, brackets);
      if (type === 'name' && !/^[\p{ID_Start}_]/u.test(text))
        fail('Invalid character in identifier', this.#line);
      if (type === 'string') this.#push(type, unescaped(text.slice(1, -1), this.#line));
      else if (type !== 'space') this.#push(type === 'operator' ? text : type, text);
      this.#pass(text);
      return;
    }
    if (this.#at >= this.#source.length) fail('unexpected end of template', this.#line);
    fail(`unexpected char '${this.#source[this.#at]}' at ${this.#at}`, this.#line);
  }

  #balance(operator: string, brackets: string[]): void {
    const close = CLOSES[operator];
    if (close !== undefined) brackets.push(close);
    else if ('})]'.includes(operator)) {
      const expected = brackets.pop();
      if (expected !== operator)
        fail(
          `unexpected '${operator}'${expected === undefined ? '' : `, expected '${expected}'`}`,
          this.#line,
        );
    }
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** The content of a string literal, by Python's escapes. */
function unescaped(text: string, line: number): string {
  return text.replace(
    /\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/gs,
    (all, octal?: string, x?: string, u?: string, U?: string, other?: string) => {
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
      const hex = x ?? u ?? U;
      if (hex !== undefined) {
        const point = Number.parseInt(hex, 16);
        if (point > 0x10ffff) fail('illegal Unicode character', line);
        return String.fromCodePoint(point);
      }
      const letter = other ?? '';
      if (letter === 'N') return unsupported('\\N in a string', line);
      if ('xuU'.includes(letter)) return fail(`truncated \\${letter} escape`, line);
      return ESCAPES[letter] ?? all;
    },
  );
}
