/**
 * Which names a block hides. Jinja decides this while compiling: a name that a block sets before reading it
 * belongs to the block from its beginning, so code inside the block finds nothing under that name until it is
 * set, even if a variable with this name was given. A name that only one branch of an `if` sets is not
 * hidden, nor is one that an enclosing block knows.
 */
import type { Body, Expression, Signature, Statement, Target } from './ast.ts';

/** The hidden names of each body that runs in a scope of its own. */
export type HiddenNames = ReadonlyMap<Body, readonly string[]>;

/** Find the hidden names of a template's bodies. */
export function hiddenNames(template: Body): HiddenNames {
  const found = new Map<Body, readonly string[]>();
  frame(template, [], new Set(), found);
  return found;
}

function frame(
  body: Body,
  parameters: readonly string[],
  around: ReadonlySet<string>,
  found: Map<Body, readonly string[]>,
): void {
  const names = new Names(around, parameters);
  names.visitAll(body);
  found.set(body, [...names.hidden]);
  const known = new Set([...around, ...names.known]);
  for (const statement of body) inner(statement, known, found);
}

/** The frames inside a statement. */
function inner(
  statement: Statement,
  known: ReadonlySet<string>,
  found: Map<Body, readonly string[]>,
): void {
  const all = (body: Body) => {
    for (const each of body) inner(each, known, found);
  };
  if (statement.kind === 'if') {
    for (const { body } of statement.branches) all(body);
    all(statement.otherwise);
  } else if (statement.kind === 'for') {
    frame(statement.body, ['loop', ...targetNames(statement.target)], known, found);
    frame(statement.otherwise, [], known, found);
  } else if (statement.kind === 'macro') {
    frame(statement.body, [...statement.reads, ...signatureNames(statement)], known, found);
  } else if (statement.kind === 'callBlock')
    frame(statement.body, signatureNames(statement), known, found);
  else if (statement.kind === 'with')
    frame(statement.body, statement.targets.flatMap(targetNames), known, found);
  else if ('body' in statement) frame(statement.body, [], known, found);
}

const signatureNames = ({ signature }: { readonly signature: Signature }): readonly string[] =>
  signature.parameters.map(({ name }) => name);

function targetNames(target: Target): readonly string[] {
  if (target.kind === 'tuple') return target.items.flatMap(targetNames);
  return target.kind === 'name' ? [target.name] : [];
}

/** What one frame reads and sets, in order. */
class Names {
  readonly known: Set<string>;
  readonly hidden = new Set<string>();
  readonly #around: ReadonlySet<string>;

  constructor(around: ReadonlySet<string>, known: Iterable<string>) {
    this.#around = around;
    this.known = new Set(known);
  }

  #load(name: string): void {
    if (!this.#around.has(name)) this.known.add(name);
  }

  #store(name: string): void {
    if (!this.known.has(name) && !this.#around.has(name)) this.hidden.add(name);
    this.known.add(name);
  }

  #target(target: Target): void {
    if (target.kind === 'name') this.#store(target.name);
    else if (target.kind === 'field') this.#load(target.namespace);
    else for (const item of target.items) this.#target(item);
  }

  visitAll(body: Body): void {
    for (const statement of body) this.#visit(statement);
  }

  #visit(statement: Statement): void {
    const { kind } = statement;
    if (kind === 'print') this.#read(statement.value);
    else if (kind === 'set') {
      this.#read(statement.value);
      this.#target(statement.target);
    } else if (kind === 'setBlock') this.#target(statement.target);
    else if (kind === 'macro') this.#store(statement.name);
    else if (kind === 'for') this.#read(statement.items);
    else if (kind === 'callBlock') this.#read(statement.call);
    else if (kind === 'filterBlock') this.#read(statement.filter);
    else if (kind === 'with') for (const value of statement.values) this.#read(value);
    else if (kind === 'if') this.#branches(statement);
  }

  #branches({ branches, otherwise }: Extract<Statement, { kind: 'if' }>): void {
    const seen: string[] = [];
    const apart = (visit: (names: Names) => void) => {
      const names = new Names(this.#around, this.known);
      visit(names);
      seen.push(...names.known);
    };
    const [first] = branches;
    if (first !== undefined) this.#read(first.test);
    for (const [i, { test, body }] of branches.entries())
      apart((names) => {
        if (i > 0) names.#read(test);
        names.visitAll(body);
      });
    apart((names) => names.visitAll(otherwise));
    for (const name of seen) this.known.add(name);
  }

  /** Every name in an expression. */
  #read(node: Expression): void {
    if (node.kind === 'name') this.#load(node.name);
    else for (const part of Object.values(node)) this.#readPart(part);
  }

  #readPart(part: unknown): void {
    if (Array.isArray(part)) for (const each of part) this.#readPart(each);
    else if (typeof part !== 'object' || part === null) return;
    else if ('kind' in part) this.#read(part as Expression);
    else for (const each of Object.values(part)) this.#readPart(each);
  }
}
