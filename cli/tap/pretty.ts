/**
 * Records for people. What a model wrote is hostile: control characters never reach the terminal.
 * Long texts and arrays are cut, and say by how much.
 */

import { counted, visible } from '../../base/text/index.ts';
import type { Stored } from '../../streams/index.ts';
import { Change } from './diff.ts';

/** How many characters of a text are shown by default. */
export const TRUNCATE = 2000;
const itemsMax = 12;
/** How much of differing texts is shown before the difference. */
const BEFORE_DIFFERENCE = 20;

/** One record: a head line, then its fields, indented. Ends with a newline. */
export function pretty(stored: Stored<unknown>, value: unknown, truncate = TRUNCATE): string {
  return `${headLine(stored)}\n${fieldLines(value, '  ', truncate).join('\n')}\n`;
}

/** A record's position, key and time. */
export function headLine({ topic, position, key, atMs }: Stored<unknown>): string {
  const { partition, offset } = position;
  const place = partition === 0 ? String(offset) : `${partition}/${offset}`;
  return `${topic}@${place}  ${visible(key)}  ${new Date(atMs).toISOString()}`;
}

function fieldLines(value: unknown, indent: string, truncate: number): string[] {
  if (!isGroup(value)) return [`${indent}${scalar(value)}`];
  return Object.entries(value).flatMap(([name, inner]) => {
    const label = `${indent}${visible(name)}:`;
    if (typeof inner === 'string') return textLines(label, inner, indent, truncate);
    if (inner instanceof Change) return [`${label} ${changed(inner, truncate)}`];
    if (isGroup(inner)) return [label, ...fieldLines(inner, `${indent}  `, truncate)];
    return Array.isArray(inner)
      ? arrayLines(label, inner, indent, truncate)
      : [`${label} ${scalar(inner)}`];
  });
}

function arrayLines(
  label: string,
  items: readonly unknown[],
  indent: string,
  truncate: number,
): string[] {
  const one = (item: unknown): string => oneLine(item, truncate);
  if (items.every((item) => typeof item !== 'object' || item === null)) {
    return [`${label} [${shortened(items, one, ', ')}]`];
  }
  const shown = items.slice(0, itemsMax).map((item) => `${indent}  - ${one(item)}`);
  const more = items.length > itemsMax ? [`${indent}  … ${items.length - itemsMax} more`] : [];
  return [`${label} ${items.length}`, ...shown, ...more];
}

function oneLine(value: unknown, truncate: number): string {
  const one = (item: unknown): string => oneLine(item, truncate);
  if (typeof value === 'string') {
    const more = value.length > truncate ? '…' : '';
    return visible(JSON.stringify(value.slice(0, truncate))) + more;
  }
  if (Array.isArray(value)) return `[${shortened(value, one, ', ')}]`;
  if (!isGroup(value)) return scalar(value);
  const parts = Object.entries(value).map(([name, inner]) => `${visible(name)}: ${one(inner)}`);
  return `{ ${parts.join(', ')} }`;
}

function changed({ before, after }: Change, truncate: number): string {
  let same = 0;
  if (typeof before === 'string' && typeof after === 'string') {
    while (same < before.length && before[same] === after[same]) same++;
  }
  const start = same - BEFORE_DIFFERENCE;
  const shown = (value: unknown): string =>
    typeof value === 'string' && start > 0
      ? `…${oneLine(value.slice(start), truncate)}`
      : oneLine(value, truncate);
  return `${shown(before)} → ${shown(after)}`;
}

function textLines(label: string, text: string, indent: string, truncate: number): string[] {
  const cut = text.slice(0, truncate);
  const lines = cut.split('\n').map(visible);
  if (cut.length < text.length)
    lines.push(`… ${counted(text.length - cut.length, 'more character')}`);
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
