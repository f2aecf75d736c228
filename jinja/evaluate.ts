/** Runs the tree of a template with Jinja's scopes and Python's values. */

import { callValue, getAttribute, getItem, getSlice, Slice } from './access.ts';
import type {
  Body,
  CallArguments,
  Expression,
  Filter,
  Signature,
  Statement,
  Target,
} from './ast.ts';
import { deeper, spend, visit } from './budget.ts';
import { fail, TemplateFailure } from './failure.ts';
import { applyFilter, applyTest } from './filters.ts';
import { LoopState } from './loop.ts';
import { binary, compared, unary } from './operators.ts';
import { toStr } from './print.ts';
import type { HiddenNames } from './scopes.ts';
import { concat, isStr, plain, type Str } from './text.ts';
import {
  type Arguments,
  Callable,
  Dict,
  iterate,
  List,
  look,
  Namespace,
  orElse,
  Tuple,
  truth,
  typeName,
  Undefined,
  type Value,
} from './values.ts';

/** Names and their values; those of enclosing scopes are read but never written. */
class Scope {
  readonly #names: Map<string, Value>;
  readonly #around: Scope | null;
  readonly #hidden: HiddenNames;

  constructor(
    hidden: HiddenNames,
    around: Scope | null,
    names: Iterable<readonly [string, Value]>,
  ) {
    this.#hidden = hidden;
    this.#around = around;
    this.#names = new Map(names);
  }

  /** A scope inside this one, for a body. */
  inside(body: Body): Scope {
    const hidden = this.#hidden.get(body) ?? [];
    visit(hidden.length);
    const names = hidden.map((name) => [name, new Undefined(`'${name}' is undefined`)] as const);
    return new Scope(this.#hidden, this, names);
  }

  get(name: string): Value {
    for (let scope: Scope | null = this; scope !== null; scope = scope.#around) {
      const value = scope.#names.get(name);
      if (value !== undefined) return value;
    }
    return new Undefined(`'${name}' is undefined`);
  }

  set(name: string, value: Value): void {
    this.#names.set(name, value);
  }
}

type Signal = 'break' | 'continue' | null;

/** The text that a template renders to with these variables. Fails with the line. */
export function evaluate(
  body: Body,
  hidden: HiddenNames,
  variables: ReadonlyMap<string, Value>,
): Str {
  return rendered(body, new Scope(hidden, null, variables).inside(body));
}

function rendered(body: Body, scope: Scope): Str {
  const out: Str[] = [];
  run(body, scope, out);
  return concat(out);
}

function run(body: Body, scope: Scope, out: Str[]): Signal {
  for (const statement of body) {
    const signal = located(statement.line, () => step(statement, scope, out));
    if (signal !== null) return signal;
  }
  return null;
}

/** Failures without a line get this one. */
function located<Result>(line: number, act: () => Result): Result {
  try {
    return deeper(act);
  } catch (error) {
    if (error instanceof TemplateFailure) error.line ??= line;
    throw error;
  }
}

function step(statement: Statement, scope: Scope, out: Str[]): Signal {
  spend();
  switch (statement.kind) {
    case 'data':
      out.push(statement.text);
      return null;
    case 'print':
      out.push(toStr(value(statement.value, scope)));
      return null;
    case 'if': {
      const branch = statement.branches.find(({ test }) => truth(value(test, scope)));
      return run(branch?.body ?? statement.otherwise, scope, out);
    }
    case 'for':
      return loop(statement, scope, out, value(statement.items, scope), 0);
    case 'set':
      assign(statement.target, value(statement.value, scope), scope);
      return null;
    case 'setBlock': {
      const text = rendered(statement.body, scope.inside(statement.body));
      assign(statement.target, filtered(statement.filter, text, scope), scope);
      return null;
    }
    case 'filterBlock': {
      const text = rendered(statement.body, scope.inside(statement.body));
      out.push(toStr(filtered(statement.filter, text, scope)));
      return null;
    }
    case 'macro':
      scope.set(
        statement.name,
        macro(statement.name, statement.signature, statement.body, statement.reads, scope),
      );
      return null;
    case 'callBlock': {
      const caller = macro('caller', statement.signature, statement.body, new Set(), scope);
      const args = argumentsOf(statement.call.args, scope);
      const named = new Map([...args.named, ['caller', caller] as const]);
      out.push(toStr(callValue(value(statement.call.of, scope), { ...args, named })));
      return null;
    }
    case 'with': {
      const values = statement.values.map((each) => value(each, scope));
      const inner = scope.inside(statement.body);
      for (const [i, target] of statement.targets.entries())
        assign(target, values[i] ?? null, inner);
      return run(statement.body, inner, out);
    }
    case 'generation':
      out.push(rendered(statement.body, scope.inside(statement.body)));
      return null;
    default:
      return statement.kind;
  }
}

type For = Extract<Statement, { kind: 'for' }>;

function loop(statement: For, scope: Scope, out: Str[], items: Value, depth: number): Signal {
  const { target, test, body, otherwise, recursive } = statement;
  look(items);
  const recurse = ({ positional }: Arguments): Value => {
    const inner: Str[] = [];
    loop(statement, scope, inner, positional[0] ?? null, depth + 1);
    return concat(inner);
  };
  const passing = function* (): Iterable<Value> {
    for (const item of iterate(items)) {
      const inner = scope.inside(body);
      assign(target, item, inner);
      if (test === null || truth(value(test, inner))) yield item;
    }
  };
  const state = new LoopState(
    items,
    test === null ? null : passing(),
    depth,
    recursive ? recurse : null,
  );
  let whole = false;
  for (let item = state.next(); item !== undefined; item = state.next()) {
    const inner = scope.inside(body);
    inner.set('loop', state.loop);
    assign(target, item, inner);
    const signal = run(body, inner, out);
    if (signal === null) whole = true;
    if (signal === 'break') break;
  }
  // In Jinja, else runs if no iteration was completed
  return whole ? null : run(otherwise, scope.inside(otherwise), out);
}

function assign(target: Target, given: Value, scope: Scope): void {
  if (target.kind === 'name') scope.set(target.name, given);
  else if (target.kind === 'field') {
    const namespace = scope.get(target.namespace);
    if (!(namespace instanceof Namespace))
      fail('cannot assign attribute on non-namespace object', target.line);
    namespace.fields.set(target.field, given);
  } else {
    const items = unpacked(given, target.items.length, target.line);
    for (const [i, each] of target.items.entries()) assign(each, items[i] ?? null, scope);
  }
}

function unpacked(given: Value, count: number, line: number): readonly Value[] {
  look(given);
  const items = located(line, () => [...iterate(given)]);
  if (items.length > count) fail(`too many values to unpack (expected ${count})`, line);
  if (items.length < count)
    fail(`not enough values to unpack (expected ${count}, got ${items.length})`, line);
  return items;
}

function macro(
  name: string,
  { parameters }: Signature,
  body: Body,
  reads: ReadonlySet<string>,
  scope: Scope,
): Callable {
  const call = ({ positional, named }: Arguments): Value => {
    visit(parameters.length);
    const inner = scope.inside(body);
    const rest = new Map(named);
    for (const [i, parameter] of parameters.entries()) {
      const given = i < positional.length ? positional[i] : rest.get(parameter.name);
      if (i >= positional.length) rest.delete(parameter.name);
      inner.set(
        parameter.name,
        orElse(given, () => missing(parameter, inner)),
      );
    }
    if (reads.has('caller') && !parameters.some((parameter) => parameter.name === 'caller')) {
      inner.set('caller', rest.get('caller') ?? new Undefined('No caller defined'));
      rest.delete('caller');
    }
    if (reads.has('kwargs')) inner.set('kwargs', new Dict(rest));
    else if (rest.size > 0)
      fail(`macro '${name}' takes no keyword argument '${[...rest.keys()][0]}'`);
    if (reads.has('varargs')) inner.set('varargs', new Tuple(positional.slice(parameters.length)));
    else if (positional.length > parameters.length)
      fail(`macro '${name}' takes not more than ${parameters.length} argument(s)`);
    return rendered(body, inner);
  };
  return new Callable(name, call);
}

function missing({ name, otherwise }: Signature['parameters'][number], scope: Scope): Value {
  if (otherwise !== null) return value(otherwise, scope);
  return new Undefined(`parameter '${name}' was not provided`);
}

function filtered(filter: Filter | null, text: Str, scope: Scope): Value {
  if (filter === null) return text;
  const inner = filter.of === null ? text : filtered(filter.of as Filter, text, scope);
  return located(filter.line, () =>
    applyFilter(filter.name, inner, argumentsOf(filter.args, scope)),
  );
}

function argumentsOf(args: CallArguments, scope: Scope): Arguments {
  const positional = args.positional.map((each) => value(each, scope));
  if (args.spread !== null) {
    const spread = value(args.spread, scope);
    look(spread);
    positional.push(...iterate(spread));
  }
  const named = new Map(args.named.map(([name, each]) => [name, value(each, scope)]));
  if (args.namedSpread !== null) {
    const spread = value(args.namedSpread, scope);
    if (!(spread instanceof Dict))
      return fail(`argument after ** must be a mapping, not ${typeName(spread)}`);
    for (const [key, each] of spread.entries.values()) {
      if (!isStr(key)) fail('keywords must be strings');
      if (named.has(plain(key))) fail(`got multiple values for keyword argument '${plain(key)}'`);
      named.set(plain(key), each);
    }
  }
  return { positional, named };
}

function value(node: Expression, scope: Scope): Value {
  if (node.kind === 'constant') return node.value;
  if (node.kind === 'name') return scope.get(node.name);
  return located(node.line, () => computed(node, scope));
}

function computed(node: Expression, scope: Scope): Value {
  spend();
  switch (node.kind) {
    case 'list':
      return new List(node.items.map((item) => value(item, scope)));
    case 'tuple':
      return new Tuple(node.items.map((item) => value(item, scope)));
    case 'dict':
      return new Dict(node.pairs.map(([key, item]) => [value(key, scope), value(item, scope)]));
    case 'attribute':
      return getAttribute(value(node.of, scope), node.name);
    case 'item':
      return subscript(value(node.of, scope), node.key, scope);
    case 'call':
      return callValue(value(node.of, scope), argumentsOf(node.args, scope));
    case 'filter':
      return applyFilter(
        node.name,
        node.of === null ? '' : value(node.of, scope),
        argumentsOf(node.args, scope),
      );
    case 'test':
      return applyTest(node.name, value(node.of, scope), argumentsOf(node.args, scope));
    case 'not':
      return !truth(value(node.of, scope));
    case 'negative':
      return unary('-', value(node.of, scope));
    case 'positive':
      return unary('+', value(node.of, scope));
    case 'and': {
      const left = value(node.left, scope);
      return truth(left) ? value(node.right, scope) : left;
    }
    case 'or': {
      const left = value(node.left, scope);
      return truth(left) ? left : value(node.right, scope);
    }
    case 'arithmetic':
      return binary(node.operator, value(node.left, scope), value(node.right, scope));
    case 'concat':
      return concat(node.items.map((item) => toStr(value(item, scope))));
    case 'compare':
      return comparison(node, scope);
    case 'condition':
      return condition(node, scope);
    default:
      return fail('a slice is allowed only in a subscript');
  }
}

function subscript(of: Value, key: Expression, scope: Scope): Value {
  if (key.kind !== 'slice') return getItem(of, value(key, scope));
  const [start, stop, step] = [key.start, key.stop, key.step].map((part) =>
    part === null ? null : value(part, scope),
  );
  return getSlice(of, new Slice(start ?? null, stop ?? null, step ?? null));
}

function comparison(node: Extract<Expression, { kind: 'compare' }>, scope: Scope): boolean {
  let left = value(node.first, scope);
  for (const { operator, right } of node.rest) {
    const next = value(right, scope);
    if (!compared(operator, left, next)) return false;
    left = next;
  }
  return true;
}

function condition(node: Extract<Expression, { kind: 'condition' }>, scope: Scope): Value {
  if (truth(value(node.test, scope))) return value(node.chosen, scope);
  if (node.otherwise !== null) return value(node.otherwise, scope);
  return new Undefined(
    `the inline if-expression on line ${node.line} evaluated to false and no else section was defined.`,
  );
}
