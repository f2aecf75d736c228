/**
 * `where=`: a small expression about a record, `reward < 0.2 and finish = length`. Read by hand, never
 * evaluated as code.
 *
 *     where  = term { "and" term }
 *     term   = field operator value
 *     field  = a name of the record with dots (`question.id`, `rewards.score`), or key, offset, partition, at, bytes
 *     operator: = != < <= > >= and ~ (holds this text)
 *     value  = number, true, false, null, "text in quotes" or a word
 *
 * A field that leads through a list matches a record if one of the list's members matches.
 */
import { MillraceError } from '../../../base/index.ts';
import type { Stored } from '../../../streams/index.ts';

const TEXT_MAX = 500;
const TERMS_MAX = 8;

const operators = ['!=', '<=', '>=', '=', '<', '>', '~'] as const;
type Operator = (typeof operators)[number];

type Value = string | number | boolean | null;

interface Term {
  readonly field: readonly string[];
  readonly operator: Operator;
  readonly value: Value;
}

export interface Where {
  /** As it was understood. */
  readonly text: string;
  matches(stored: Stored<unknown>): boolean;
}

/** Short names of each topic's most common fields. */
const aliases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  scored: { reward: 'rewards.score', calls: 'toolCalls', advantage: 'advantages' },
  rollouts: { calls: 'toolCalls', entropy: 'segments.entropy' },
};

/** Fails with code `USAGE`, saying where, and what is allowed. */
export function where(text: string, topic: string): Where {
  if (text.length > TEXT_MAX) throw refused(`it is longer than ${TEXT_MAX} characters`);
  const terms = termsIn(tokensOf(text));
  const known = aliases[topic] ?? {};
  const asked = terms.map((term) => {
    const alias = term.field.length === 1 && Object.hasOwn(known, term.field[0]!);
    return alias ? { ...term, field: known[term.field[0]!]!.split('.') } : term;
  });
  return {
    text: terms.map(termText).join(' and '),
    matches: (stored) => asked.every((term) => holds(term, stored)),
  };
}

type Token =
  | { readonly kind: 'word' | 'quoted'; readonly text: string }
  | { readonly kind: 'operator'; readonly text: Operator };

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const token = /\s*(?:"((?:[^"\\]|\\.)*)"|(!=|<=|>=|=|<|>|~)|([^\s"!=<>~]+))/y;
  const rest = text.trimEnd();
  let at = 0;
  while (at < rest.length) {
    token.lastIndex = at;
    const found = token.exec(rest);
    if (found === null)
      throw refused(`it cannot be parsed from ${JSON.stringify(rest.slice(at, at + 20))} on`);
    const [, quoted, operator, word] = found;
    if (quoted !== undefined)
      tokens.push({ kind: 'quoted', text: quoted.replace(/\\(.)/gs, '$1') });
    else if (operator !== undefined) tokens.push({ kind: 'operator', text: operator as Operator });
    else tokens.push({ kind: 'word', text: word! });
    at = token.lastIndex;
  }
  return tokens;
}

function termsIn(tokens: readonly Token[]): Term[] {
  const terms: Term[] = [];
  for (let i = 0; i < tokens.length; i += 4) {
    const [field, operator, value, and] = tokens.slice(i, i + 4);
    if (field?.kind !== 'word') throw refused(`a field is missing ${placeOf(terms)}`);
    if (operator?.kind !== 'operator') throw refused(`an operator is missing after ${field.text}`);
    if (value === undefined || value.kind === 'operator') {
      throw refused(`a value is missing after ${field.text} ${operator.text}`);
    }
    terms.push({ field: field.text.split('.'), operator: operator.text, value: wantedOf(value) });
    if (and === undefined) break;
    if (and.kind !== 'word' || and.text.toLowerCase() !== 'and') {
      throw refused(`only "and" joins terms, not ${JSON.stringify(and.text)}`);
    }
    if (i + 4 >= tokens.length) throw refused('it ends in "and"');
  }
  if (terms.length > TERMS_MAX) throw refused(`it has more than ${TERMS_MAX} terms`);
  return terms;
}

function placeOf(terms: readonly Term[]): string {
  return terms.length === 0 ? 'at the beginning' : 'after "and"';
}

function wantedOf(token: Token): Value {
  if (token.kind === 'quoted') return token.text;
  const { text } = token;
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : text;
}

function termText({ field, operator, value }: Term): string {
  const bare = typeof value !== 'string' || /^[^\s"!=<>~]+$/.test(value);
  return `${field.join('.')} ${operator} ${bare ? String(value) : JSON.stringify(value)}`;
}

function holds({ field, operator, value }: Term, stored: Stored<unknown>): boolean {
  return valuesAt(rootOf(stored, field[0]!), field, 0).some((found) =>
    compare(found, operator, value),
  );
}

function rootOf({ key, position, atMs, bytes, value }: Stored<unknown>, name: string): unknown {
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, name)) return value;
  return { key, ...position, at: atMs, bytes };
}

/** The values at this path; if it leads through lists, those of all members. */
function valuesAt(from: unknown, field: readonly string[], depth: number): unknown[] {
  if (Array.isArray(from)) {
    const at = field[depth];
    if (at !== undefined && /^\d+$/.test(at)) return valuesAt(from[Number(at)], field, depth + 1);
    return from.flatMap((member) => valuesAt(member, field, depth));
  }
  const name = field[depth];
  if (name === undefined) return [from];
  if (typeof from !== 'object' || from === null || ArrayBuffer.isView(from)) return [];
  return Object.hasOwn(from, name)
    ? valuesAt((from as Readonly<Record<string, unknown>>)[name], field, depth + 1)
    : [];
}

function compare(found: unknown, operator: Operator, wanted: Value): boolean {
  if (operator === '~') return typeof found === 'string' && found.includes(String(wanted));
  // `answer = 42` finds the text "42" too.
  const same = found === wanted || (typeof found === 'string' && found === String(wanted));
  if (operator === '=') return same;
  if (operator === '!=') return !same;
  if (typeof found !== 'number' || typeof wanted !== 'number') return false;
  switch (operator) {
    case '<':
      return found < wanted;
    case '<=':
      return found <= wanted;
    case '>':
      return found > wanted;
    default:
      return found >= wanted;
  }
}

function refused(why: string): MillraceError<'USAGE'> {
  return new MillraceError(
    'USAGE',
    `invalid filter in where=: ${why}. Write \`field operator value\`, joined by "and": reward < 0.2 and finish = length; ` +
      `operators are ${operators.join(' ')}`,
  );
}
