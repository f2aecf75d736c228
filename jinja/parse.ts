/**
 * Parses a template by Jinja's grammar: the functions of its parser, except those that include files.
 */
import type {
  Body,
  CallArguments,
  Expression,
  Filter,
  Signature,
  Statement,
  Target,
} from './ast.ts';
import { TOO_DEEP } from './budget.ts';
import { fail, unsupported } from './failure.ts';
import { lex, type Token } from './lex.ts';
import { readInteger } from './numbers.ts';

const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>=']);
const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);
const NO_ARGUMENTS: CallArguments = { positional: [], named: [], spread: null, namedSpread: null };
/** Names that cannot be the argument of a test without parentheses. */
const AFTER_TEST = new Set(['else', 'or', 'and']);

/** Nesting of blocks and operands, far below where the stack ends (see `deeper`). */
const NESTING_MAX = 200;

/** Parse a template. Fails with the line of the fault. */
export function parse(source: string): Body {
  return new Parser(lex(source)).statements(null);
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  /** How many loops and macros are open around this point; `break` outside a loop is a fault. */
  #loops = 0;
  #nesting = 0;

  constructor(tokens: readonly Token[]) {
    const line = tokens.at(-1)?.line ?? 1;
    this.#tokens = [...tokens, { type: 'end', value: 'the end of the template', line }];
  }

  get #token(): Token {
    return this.#look(0);
  }

  #look(ahead: number): Token {
    const at = Math.min(this.#at + ahead, this.#tokens.length - 1);
    return this.#tokens[at] ?? fail('unexpected end of template');
  }

  #next(): Token {
    const token = this.#token;
    this.#at++;
    return token;
  }

  #is(type: string): boolean {
    return this.#token.type === type;
  }

  #isName(...names: readonly string[]): boolean {
    return this.#is('name') && names.includes(this.#token.value);
  }

  #skip(type: string): boolean {
    const there = this.#is(type);
    if (there) this.#at++;
    return there;
  }

  #skipName(name: string): boolean {
    const there = this.#isName(name);
    if (there) this.#at++;
    return there;
  }

  #expect(type: string): Token {
    if (this.#is(type)) return this.#next();
    return fail(`expected token '${type}', got '${this.#token.value}'`, this.#token.line);
  }

  #expectName(name: string): Token {
    if (this.#isName(name)) return this.#next();
    return fail(`expected token '${name}', got '${this.#token.value}'`, this.#token.line);
  }

  #nested<Result>(act: () => Result): Result {
    if (++this.#nesting > NESTING_MAX) fail(TOO_DEEP, this.#token.line);
    const result = act();
    this.#nesting--;
    return result;
  }

  /**
   * Statements up to a tag with one of these names, which becomes the token; null = to the template's end.
   */
  statements(ends: readonly string[] | null): Body {
    const body: Statement[] = [];
    const { line } = this.#token;
    while (!this.#is('end')) {
      const token = this.#next();
      if (token.type === 'data') body.push({ kind: 'data', text: token.value, line: token.line });
      else if (token.type === 'variable_begin') {
        body.push({ kind: 'print', value: this.#tuple(), line: token.line });
        this.#expect('variable_end');
      } else {
        if (ends !== null && this.#isName(...ends)) return body;
        body.push(...this.#statement());
        this.#expect('block_end');
      }
    }
    if (ends === null) return body;
    return fail(`Unexpected end of template: looking for ${ends.join(' or ')}`, line);
  }

  /** The body of a block. If only one tag can end it, that tag is consumed. */
  #body(...ends: readonly string[]): Body {
    this.#skip(':');
    this.#expect('block_end');
    const body = this.#nested(() => this.statements(ends));
    if (ends.length === 1) this.#next();
    return body;
  }

  #statement(): readonly Statement[] {
    if (!this.#is('name')) fail('tag name expected', this.#token.line);
    const { value: name, line } = this.#next();
    if (name === 'if') return [this.#if(line)];
    if (name === 'for') return [this.#for(line)];
    if (name === 'set') return [this.#set(line)];
    if (name === 'macro') return [this.#macro(line)];
    if (name === 'call') return [this.#callBlock(line)];
    if (name === 'filter') {
      const filter = this.#filters(null, true) ?? fail('expected a filter', line);
      return [{ kind: 'filterBlock', filter, body: this.#body('endfilter'), line }];
    }
    if (name === 'with') return [this.#with(line)];
    if (name === 'generation')
      return [{ kind: 'generation', body: this.#apart('endgeneration'), line }];
    if (name === 'print') return this.#print(line);
    if (name === 'break' || name === 'continue') {
      if (this.#loops === 0) fail(`'${name}' outside loop`, line);
      return [{ kind: name, line }];
    }
    if (['autoescape', 'block', 'extends', 'from', 'import', 'include'].includes(name))
      return unsupported(`the tag ${name}`, line);
    return fail(`Encountered unknown tag '${name}'.`, line);
  }

  /** A body that runs as a function of its own: loops around it cannot be left from inside. */
  #apart(end: string): Body {
    const loops = this.#loops;
    this.#loops = 0;
    const body = this.#body(end);
    this.#loops = loops;
    return body;
  }

  #if(line: number): Statement {
    const branches: { test: Expression; body: Body }[] = [];
    for (;;) {
      const test = this.#tuple(false);
      branches.push({ test, body: this.#body('elif', 'else', 'endif') });
      const end = this.#next().value;
      if (end === 'endif') return { kind: 'if', branches, otherwise: [], line };
      if (end === 'else') return { kind: 'if', branches, otherwise: this.#body('endif'), line };
    }
  }

  #for(line: number): Statement {
    const target = this.#target(['in']);
    this.#expectName('in');
    const items = this.#tuple(false, ['recursive']);
    const test = this.#skipName('if') ? this.#expression() : null;
    const recursive = this.#skipName('recursive');
    this.#loops++;
    const body = this.#body('endfor', 'else');
    this.#loops--;
    const otherwise = this.#next().value === 'endfor' ? [] : this.#body('endfor');
    return { kind: 'for', target, items, test, recursive, body, otherwise, line };
  }

  #set(line: number): Statement {
    const target = this.#target(null, true);
    if (this.#skip('=')) return { kind: 'set', target, value: this.#tuple(), line };
    const filter = this.#filters(null);
    return { kind: 'setBlock', target, filter, body: this.#body('endset'), line };
  }

  #macro(line: number): Statement {
    const name = this.#expect('name').value;
    if (CONSTANTS.has(name)) fail(`can't assign to '${name}'`, line);
    const signature = this.#signature();
    const start = this.#at;
    const body = this.#apart('endmacro');
    const tokens = this.#tokens.slice(start, this.#at);
    const reads = new Set(
      ['caller', 'kwargs', 'varargs'].filter((special) =>
        tokens.some(
          ({ type, value }, i) =>
            type === 'name' && value === special && tokens[i - 1]?.type !== '.',
        ),
      ),
    );
    return { kind: 'macro', name, signature, body, reads, line };
  }

  #callBlock(line: number): Statement {
    const signature = this.#is('(') ? this.#signature() : { parameters: [] };
    const call = this.#expression();
    if (call.kind !== 'call') return fail('expected call', line);
    return { kind: 'callBlock', signature, call, body: this.#apart('endcall'), line };
  }

  #with(line: number): Statement {
    const targets: Target[] = [];
    const values: Expression[] = [];
    while (!this.#is('block_end')) {
      if (targets.length > 0) this.#expect(',');
      targets.push(this.#target(null));
      this.#expect('=');
      values.push(this.#expression());
    }
    return { kind: 'with', targets, values, body: this.#body('endwith'), line };
  }

  #print(line: number): readonly Statement[] {
    const values: Statement[] = [];
    while (!this.#is('block_end')) {
      if (values.length > 0) this.#expect(',');
      values.push({ kind: 'print', value: this.#expression(), line });
    }
    return values;
  }

  #signature(): Signature {
    const parameters: { name: string; otherwise: Expression | null }[] = [];
    this.#expect('(');
    while (!this.#is(')')) {
      if (parameters.length > 0) this.#expect(',');
      const { value: name, line } = this.#expect('name');
      const otherwise = this.#skip('=') ? this.#expression() : null;
      if (otherwise === null && parameters.at(-1)?.otherwise)
        fail('non-default argument follows default argument', line);
      if (CONSTANTS.has(name)) fail(`can't assign to '${name}'`, line);
      parameters.push({ name, otherwise });
    }
    this.#next();
    return { parameters };
  }

  /** One target, or several with commas, up to a name of `ends`. */
  #target(ends: readonly string[] | null, fields = false): Target {
    const { line } = this.#token;
    const items: Target[] = [];
    let tuple = false;
    for (;;) {
      if (items.length > 0) this.#expect(',');
      if (this.#tupleEnds(ends)) break;
      items.push(this.#oneTarget(fields));
      if (!this.#is(',')) break;
      tuple = true;
    }
    const [only] = items;
    if (only === undefined) return fail(`Expected an expression, got '${this.#token.value}'`, line);
    return tuple ? { kind: 'tuple', items, line } : only;
  }

  #oneTarget(fields: boolean): Target {
    const { line } = this.#token;
    if (this.#skip('(')) {
      const inner = this.#nested(() => this.#target(null, fields));
      this.#expect(')');
      return inner;
    }
    const name = this.#expect('name').value;
    if (CONSTANTS.has(name)) fail(`can't assign to '${name}'`, line);
    if (!fields || !this.#skip('.')) return { kind: 'name', name };
    return { kind: 'field', namespace: name, field: this.#expect('name').value, line };
  }

  #tupleEnds(ends: readonly string[] | null): boolean {
    return (
      this.#is('variable_end') ||
      this.#is('block_end') ||
      this.#is(')') ||
      (ends !== null && this.#isName(...ends))
    );
  }

  #tuple(condition = true, ends: readonly string[] | null = null, parentheses = false): Expression {
    const { line } = this.#token;
    const items: Expression[] = [];
    let tuple = false;
    for (;;) {
      if (items.length > 0) this.#expect(',');
      if (this.#tupleEnds(ends)) break;
      items.push(this.#expression(condition));
      if (!this.#is(',')) break;
      tuple = true;
    }
    const [only] = items;
    if (!tuple && only !== undefined) return only;
    if (!tuple && !parentheses) fail(`Expected an expression, got '${this.#token.value}'`, line);
    return { kind: 'tuple', items, line };
  }

  #expression(condition = true): Expression {
    return condition ? this.#condition() : this.#or();
  }

  #condition(): Expression {
    const { line } = this.#token;
    let value = this.#or();
    while (this.#skipName('if')) {
      const test = this.#or();
      const otherwise = this.#skipName('else') ? this.#nested(() => this.#condition()) : null;
      value = { kind: 'condition', test, chosen: value, otherwise, line };
    }
    return value;
  }

  #or(): Expression {
    const { line } = this.#token;
    let left = this.#and();
    while (this.#skipName('or')) left = { kind: 'or', left, right: this.#and(), line };
    return left;
  }

  #and(): Expression {
    const { line } = this.#token;
    let left = this.#not();
    while (this.#skipName('and')) left = { kind: 'and', left, right: this.#not(), line };
    return left;
  }

  #not(): Expression {
    const { line } = this.#token;
    if (this.#skipName('not')) return { kind: 'not', of: this.#nested(() => this.#not()), line };
    return this.#compare();
  }

  #compare(): Expression {
    const { line } = this.#token;
    const first = this.#sum();
    const rest: { operator: string; right: Expression }[] = [];
    for (;;) {
      const operator = this.#comparison();
      if (operator === null) break;
      rest.push({ operator, right: this.#sum() });
    }
    return rest.length === 0 ? first : { kind: 'compare', first, rest, line };
  }

  #comparison(): string | null {
    if (COMPARISONS.has(this.#token.type)) return this.#next().type;
    if (this.#skipName('in')) return 'in';
    const after = this.#look(1);
    if (!this.#isName('not') || after.type !== 'name' || after.value !== 'in') return null;
    this.#at += 2;
    return 'not in';
  }

  /** Left-associative operators with the same precedence. */
  #chain(operators: readonly string[], operand: () => Expression): Expression {
    const { line } = this.#token;
    let left = operand();
    while (operators.includes(this.#token.type)) {
      const operator = this.#next().type;
      left = { kind: 'arithmetic', operator, left, right: operand(), line };
    }
    return left;
  }

  #sum(): Expression {
    return this.#chain(['+', '-'], () => this.#concat());
  }

  #concat(): Expression {
    const { line } = this.#token;
    const items = [this.#product()];
    while (this.#skip('~')) items.push(this.#product());
    const [only] = items;
    return items.length === 1 && only !== undefined ? only : { kind: 'concat', items, line };
  }

  #product(): Expression {
    return this.#chain(['*', '/', '//', '%'], () => this.#chain(['**'], () => this.#unary()));
  }

  #unary(filtered = true): Expression {
    const { line } = this.#token;
    let value: Expression;
    if (this.#skip('-')) value = { kind: 'negative', of: this.#signed(), line };
    else if (this.#skip('+')) value = { kind: 'positive', of: this.#signed(), line };
    else value = this.#nested(() => this.#primary());
    value = this.#postfix(value);
    return filtered ? this.#filtered(value) : value;
  }

  #signed(): Expression {
    return this.#nested(() => this.#unary(false));
  }

  #primary(): Expression {
    const { type, value, line } = this.#token;
    if (type === '[') return this.#list();
    if (type === '{') return this.#dict();
    this.#at++;
    if (type === 'name') {
      const constant = CONSTANTS.get(value);
      if (constant !== undefined) return { kind: 'constant', value: constant, line };
      if (value === 'self') unsupported('self', line);
      return { kind: 'name', name: value, line };
    }
    if (type === 'string') {
      let text = value;
      while (this.#is('string')) text += this.#next().value;
      return { kind: 'constant', value: text, line };
    }
    if (type === 'integer' || type === 'float')
      return { kind: 'constant', value: literal(type, value, line), line };
    if (type === '(') {
      const inner = this.#tuple(true, null, true);
      this.#expect(')');
      return inner;
    }
    return fail(`unexpected '${value}'`, line);
  }

  #list(): Expression {
    const { line } = this.#expect('[');
    const items: Expression[] = [];
    while (!this.#is(']')) {
      if (items.length > 0) this.#expect(',');
      if (!this.#is(']')) items.push(this.#expression());
    }
    this.#next();
    return { kind: 'list', items, line };
  }

  #dict(): Expression {
    const { line } = this.#expect('{');
    const pairs: [Expression, Expression][] = [];
    while (!this.#is('}')) {
      if (pairs.length > 0) this.#expect(',');
      if (this.#is('}')) break;
      const key = this.#expression();
      this.#expect(':');
      pairs.push([key, this.#expression()]);
    }
    this.#next();
    return { kind: 'dict', pairs, line };
  }

  #postfix(value: Expression): Expression {
    for (let found = value; ; ) {
      if (this.#is('.')) found = this.#member(found);
      else if (this.#is('[')) found = this.#subscript(found);
      else if (this.#is('(')) found = this.#call(found);
      else return found;
    }
  }

  #filtered(value: Expression): Expression {
    for (let found = value; ; ) {
      if (this.#is('|')) found = this.#filters(found) ?? found;
      else if (this.#isName('is')) found = this.#test(found);
      else if (this.#is('(')) found = this.#call(found);
      else return found;
    }
  }

  #member(of: Expression): Expression {
    const { line } = this.#next();
    const { type, value } = this.#next();
    if (type === 'name') return { kind: 'attribute', of, name: value, line };
    if (type !== 'integer') return fail('expected name or number', line);
    const key: Expression = { kind: 'constant', value: literal(type, value, line), line };
    return { kind: 'item', of, key, line };
  }

  #subscript(of: Expression): Expression {
    const { line } = this.#next();
    const keys: Expression[] = [];
    while (!this.#is(']')) {
      if (keys.length > 0) this.#expect(',');
      keys.push(this.#subscribed());
    }
    this.#next();
    const [only] = keys;
    const key: Expression =
      keys.length === 1 && only !== undefined ? only : { kind: 'tuple', items: keys, line };
    return { kind: 'item', of, key, line };
  }

  #subscribed(): Expression {
    const { line } = this.#token;
    const start = this.#is(':') ? null : this.#expression();
    if (start !== null && !this.#is(':')) return start;
    this.#expect(':');
    const end = () => this.#is(']') || this.#is(',');
    const stop = this.#is(':') || end() ? null : this.#expression();
    const step = this.#skip(':') && !end() ? this.#expression() : null;
    return { kind: 'slice', start, stop, step, line };
  }

  #call(of: Expression): Expression {
    const { line } = this.#token;
    return { kind: 'call', of, args: this.#arguments(), line };
  }

  #arguments(): CallArguments {
    const { line } = this.#expect('(');
    const positional: Expression[] = [];
    const named: (readonly [string, Expression])[] = [];
    let spread: Expression | null = null;
    let namedSpread: Expression | null = null;
    const ensure = (good: boolean) => {
      if (!good) fail('invalid syntax for function call expression', line);
    };
    for (let first = true; !this.#is(')'); first = false) {
      if (!first) {
        this.#expect(',');
        if (this.#is(')')) break;
      }
      if (this.#skip('*')) {
        ensure(spread === null && namedSpread === null);
        spread = this.#expression();
      } else if (this.#skip('**')) {
        ensure(namedSpread === null);
        namedSpread = this.#expression();
      } else if (this.#is('name') && this.#look(1).type === '=') {
        ensure(namedSpread === null);
        const key = this.#next().value;
        if (named.some(([other]) => other === key)) fail(`keyword argument repeated: ${key}`, line);
        this.#next();
        named.push([key, this.#expression()]);
      } else {
        ensure(spread === null && namedSpread === null && named.length === 0);
        positional.push(this.#expression());
      }
    }
    this.#next();
    return { positional, named, spread, namedSpread };
  }

  /** `|` and a filter, repeated; the first comes without `|` if `inline`. */
  #filters(of: Expression | null, inline = false): Filter | null {
    let value: Filter | null = null;
    for (let bare = inline; bare || this.#is('|'); bare = false) {
      if (!bare) this.#next();
      const { value: first, line } = this.#expect('name');
      const name = this.#dotted(first);
      const args = this.#is('(') ? this.#arguments() : NO_ARGUMENTS;
      value = { kind: 'filter', of: value ?? of, name, args, line };
    }
    return value;
  }

  #dotted(first: string): string {
    let name = first;
    while (this.#skip('.')) name += `.${this.#expect('name').value}`;
    return name;
  }

  #test(of: Expression): Expression {
    const { line } = this.#next();
    const negated = this.#skipName('not');
    const name = this.#dotted(this.#expect('name').value);
    const test: Expression = { kind: 'test', of, name, args: this.#testArguments(), line };
    return negated ? { kind: 'not', of: test, line } : test;
  }

  #testArguments(): CallArguments {
    const { type, value, line } = this.#token;
    if (type === '(') return this.#arguments();
    if (!['name', 'string', 'integer', 'float', '[', '{'].includes(type)) return NO_ARGUMENTS;
    if (type === 'name' && AFTER_TEST.has(value)) return NO_ARGUMENTS;
    if (type === 'name' && value === 'is') fail('You cannot chain multiple tests with is', line);
    return { ...NO_ARGUMENTS, positional: [this.#postfix(this.#primary())] };
  }
}

function literal(type: string, text: string, line: number): bigint | number {
  if (type === 'float') return Number(text.replaceAll('_', ''));
  const base = { '0b': 2, '0o': 8, '0x': 16 }[text.slice(0, 2).toLowerCase()] ?? 10;
  return readInteger(text, base) ?? fail(`not a number: ${text}`, line);
}
