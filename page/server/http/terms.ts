/**
 * What names mean, read from the tables of docs/metrics.md, so that the docs and the page share one text.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Term, TermKind, Terms } from '../../wire/index.ts';
import { pageFolder } from './assets.ts';

/** Sections whose names are not metrics. */
const kinds: Readonly<Record<string, TermKind>> = {
  'Parts of a reward': 'part',
  'Verdicts of the selection': 'verdict',
  'Words of the selection': 'selection',
  Stages: 'stage',
  'Time of a stage': 'time',
};

export function termsIn(markdown: string): Terms {
  const terms: Record<string, Term> = {};
  let kind: TermKind = 'metric';
  for (const line of markdown.split(/\r?\n/)) {
    const [, heading] = /^#+ (.+)$/.exec(line) ?? [];
    if (heading !== undefined) kind = kinds[heading] ?? 'metric';
    const [, name, rest] = /^\| `([^`]+)`[^|]*\|(.+)\|$/.exec(line) ?? [];
    if (name === undefined || rest === undefined) continue;
    const [what = '', unit = '', healthy = ''] = rest.split('|').map(plain);
    terms[`${kind} ${name}`] = { what, unit, healthy };
  }
  return { terms };
}

/** Without markup and link addresses. */
function plain(cell: string): string {
  return cell
    .trim()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '');
}

let known: Terms | null = null;

/** Empty if the installation lacks the docs. */
export function terms(): Terms {
  known ??= termsIn(markdown());
  return known;
}

function markdown(): string {
  try {
    return readFileSync(join(pageFolder(), '../../../docs/metrics.md'), 'utf8');
  } catch {
    return '';
  }
}
