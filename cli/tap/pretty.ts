/**
 * Records for a person's eyes. What a model wrote is hostile: control characters never reach the terminal.
 * Long texts and arrays are cut, and say by how much.
 */
import type { Stored } from '../../streams/log.ts';

const textCharactersMax = 2000;
const itemsMax = 12;

/** One record: a head line, then its fields, indented. Ends with a newline. */
export function pretty(stored: Stored<unknown>, value: unknown): string {
  const time = new Date(stored.atMs).toISOString();
  const { partition, offset } = stored.position;
  const place = partition === 0 ? String(offset) : `${partition}/${offset}`;
  const head = `${stored.topic}@${place}  ${visible(stored.key)}  ${time}`;
  return `${head}\n${fieldLines(value, '  ').join('\n')}\n`;
}

function fieldLines(value: unknown, indent: string): string[] {
  if (!isGroup(value)) return [`${indent}${scalar(value)}`];
  return Object.entries(value).flatMap(([name, inner]) => {
    const label = `${indent}${visible(name)}:`;
    if (typeof inner === 'string') return textLines(label, inner, indent);
    if (isGroup(inner)) return [label, ...fieldLines(inner, `${indent}  `)];
    return Array.isArray(inner) ? arrayLines(label, inner, indent) : [`${label} ${scalar(inner)}`];
  });
}

function arrayLines(label: string, items: readonly unknown[], indent: string): string[] {
  if (items.every((item) => typeof item !== 'object' || item === null)) {
    return [
      `${label} [${shortened(items, (item) => visible(JSON.stringify(item) ?? 'undefined'), ', ')}]`,
    ];
  }
  const shown = items.slice(0, itemsMax).map((item) => `${indent}  - ${oneLine(item)}`);
  const more = items.length > itemsMax ? [`${indent}  … ${items.length - itemsMax} more`] : [];
  return [`${label} ${items.length}`, ...shown, ...more];
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${shortened(value, oneLine, ', ')}]`;
  if (!isGroup(value))
    return typeof value === 'string' ? visible(JSON.stringify(value)) : scalar(value);
  const parts = Object.entries(value).map(([name, inner]) => `${visible(name)}: ${oneLine(inner)}`);
  return `{ ${parts.join(', ')} }`;
}

function textLines(label: string, text: string, indent: string): string[] {
  const cut = text.slice(0, textCharactersMax);
  const lines = cut.split('\n').map(visible);
  if (cut.length < text.length) lines.push(`… ${text.length - cut.length} characters more`);
  if (lines.length === 1) return [`${label} ${lines[0]}`];
  return [label, ...lines.map((line) => `${indent}  │ ${line}`)];
}

function scalar(value: unknown): string {
  if (ArrayBuffer.isView(value)) {
    const items = [...(value as unknown as Iterable<number>)];
    const kind = value.constructor.name.replace('Array', '');
    return `${kind}[${items.length}] ${shortened(items, rounded, ' ')}`.trimEnd();
  }
  return visible(typeof value === 'number' ? rounded(value) : String(value));
}

function rounded(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}

function shortened<T>(items: readonly T[], show: (item: T) => string, between: string): string {
  const shown = items.slice(0, itemsMax).map(show).join(between);
  return items.length > itemsMax ? `${shown}${between}…` : shown;
}

function isGroup(value: unknown): value is Readonly<Record<string, unknown>> {
  const object = typeof value === 'object' && value !== null;
  return object && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

/** Control and bidirectional characters as escapes. */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
