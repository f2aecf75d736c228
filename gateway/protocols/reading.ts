/**
 * Reads what an agent sent, field by field. Unknown fields are ignored; a wrong one is refused with its place
 * and what was expected. Content that is not text is refused by name, never dropped.
 */
import { GatewayRefusal } from '../conversation.ts';

export type Fields = Readonly<Record<string, unknown>>;

export function invalid(at: string, says: string): GatewayRefusal {
  return new GatewayRefusal('invalid', at === '' ? says : `${at} ${says}`, at);
}

/** The refusal of something that the gateway does not support. */
export function unsupported(at: string, what: string, instead = ''): GatewayRefusal {
  const advice = instead === '' ? '' : `: ${instead}`;
  return invalid(at, `asks for ${what}, which this gateway does not support${advice}`);
}

function wrong(at: string, must: string, value: unknown): GatewayRefusal {
  const is = value === undefined ? 'is missing' : `is ${kindOf(value)}`;
  return invalid(at, `${at === '' ? 'the body ' : ''}${is}; it must be ${must}`);
}

export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'text';
  return typeof value === 'boolean' ? String(value) : `a ${typeof value}`;
}

/** The agent's text, short enough for a message. */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : kindOf(value);
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}

export function fieldsAt(value: unknown, at: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrong(at, 'an object', value);
  }
  return value as Fields;
}

export function listAt(value: unknown, at: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(at, 'a list', value);
  return value;
}

/** Not empty. */
export function nameAt(value: unknown, at: string): string {
  if (typeof value !== 'string') throw wrong(at, 'text', value);
  if (value === '') throw invalid(at, 'is empty');
  return value;
}

export function textAt(value: unknown, at: string): string {
  if (typeof value !== 'string') throw wrong(at, 'text', value);
  return value;
}

/** Null if the agent does not say. */
export function countAt(value: unknown, at: string): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
    const said = typeof value === 'number' ? `is ${value}` : `is ${kindOf(value)}`;
    throw invalid(at, `${said}; it must be a whole number, 1 or more`);
  }
  return value;
}

export function flagAt(value: unknown, at: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw wrong(at, 'true or false', value);
  return value;
}

/** A text, a list of texts, or nothing. */
export function stopAt(value: unknown, at: string): string[] {
  if (value === undefined || value === null) return [];
  const all = typeof value === 'string' ? [value] : listAt(value, at);
  return all.map((one, i) => nameAt(one, typeof value === 'string' ? at : `${at}[${i}]`));
}

/** The parts of a content: a plain text is one part. */
export function partsAt(value: unknown, at: string): readonly { part: Fields; at: string }[] {
  if (typeof value === 'string') return [{ part: { type: 'text', text: value }, at }];
  if (!Array.isArray(value)) throw wrong(at, 'text or a list of parts', value);
  return value.map((one, i) => ({ part: fieldsAt(one, `${at}[${i}]`), at: `${at}[${i}]` }));
}

/** The part types that carry text, with the field that holds it; an agent's own refusal is text, too. */
const TEXTS: Readonly<Record<string, string>> = {
  text: 'text',
  input_text: 'text',
  output_text: 'text',
  refusal: 'refusal',
};

/** Content that is text only, its parts joined by `between`. */
export function contentAt(value: unknown, at: string, between: string): string {
  if (typeof value === 'string') return value;
  return partsAt(value, at)
    .map(({ part, at: place }) => partText(part, place))
    .join(between);
}

export function partText(part: Fields, at: string): string {
  const type = nameAt(part.type, `${at}.type`);
  if (!Object.hasOwn(TEXTS, type))
    throw invalid(at, `is ${quoted(type)}: the policy reads only text`);
  const field = TEXTS[type]!;
  return textAt(part[field], `${at}.${field}`);
}

/** Separates the parts of an agent's message; the parts of an answer are pieces of one text. */
export const LINES = '\n';
export const PIECES = '';
