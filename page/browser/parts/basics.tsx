/** Small parts that every view uses: what a run is doing, problems, empty places, ages, shown text. */

import type { ComponentChildren } from 'preact';
import { thousands } from '../../../base/text/index.ts';
import { size } from '../../../summary/format/index.ts';
import type { RunState, Shown } from '../../wire/index.ts';
import { nowMs } from '../data/clock.ts';
import { copy } from '../data/take.ts';
import type { Answer, Problem } from '../data/useData.ts';
import { age } from '../logic/format.ts';
import { colourOf } from '../logic/lines.ts';
import { shownText } from '../logic/shownText.ts';

const glyphs: Readonly<Record<RunState, readonly [string, string]>> = {
  live: ['●', 'good'],
  paused: ['‖', 'warn'],
  waiting: ['◌', 'warn'],
  silent: ['!', 'bad'],
  unknown: ['?', 'muted'],
  done: ['✓', 'good'],
  stopped: ['■', 'muted'],
  failed: ['✗', 'bad'],
  damaged: ['!', 'bad'],
};

export function State({ state }: { readonly state: RunState }) {
  const [glyph, tone] = glyphs[state];
  return (
    <span class={`state ${tone}`}>
      <span aria-hidden="true">{glyph}</span>
      {state}
    </span>
  );
}

/** A run with the colour that it has in curves. */
export function RunName({
  run,
  colour = colourOf(run),
}: {
  readonly run: string;
  readonly colour?: number | undefined;
}) {
  return (
    <>
      <i class={`dot ink${colour}`} />
      {run}
    </>
  );
}

/** How long ago a time of the server was. */
export function Ago({ at }: { readonly at: number | null }) {
  const text = age(at === null ? null : nowMs.value - at);
  return <span class="num">{at === null || text === 'now' ? text : `${text} ago`}</span>;
}

/**
 * Text that a model, a tool or a data file wrote: as text, its direction its own, what cannot be seen made
 * visible.
 */
export function Hostile({ text, max = 0 }: { readonly text: string; readonly max?: number }) {
  const cut = max > 0 && text.length > max;
  return (
    <bdi class="hostile">
      {shownText(cut ? text.slice(0, max) : text).text}
      {cut ? '…' : ''}
    </bdi>
  );
}

/** A sentence of the server: it begins with a capital, what is between backticks is a command or a name. */
export function Said({ text }: { readonly text: string }) {
  const parts = text.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase()).split('`');
  return (
    <>
      {parts.map((part, i) => {
        const shown = <Hostile text={part} />;
        return i % 2 === 1 ? <code>{shown}</code> : shown;
      })}
    </>
  );
}

export function Wrong({ problem }: { readonly problem: Problem }) {
  return (
    <div class="card empty" role="alert">
      <h2 class="bad">{titles[problem.code] ?? 'This cannot be shown'}</h2>
      <p>
        <Said text={problem.message} />
      </p>
      <p>
        <a href="/">All runs</a>
      </p>
    </div>
  );
}

/** Of those whose message does not say it all. */
const titles: Readonly<Record<string, string>> = {
  NO_RUN: 'Run not found',
  NOT_FOUND: 'Not found',
  UNREACHABLE: 'Server not reachable',
  TOKEN: 'Access token missing',
  NOT_FROZEN: 'Not part of this file',
};

/**
 * What to show of an answer that is not there: nothing for a moment, then where it will be, or the problem.
 */
export function Missing({ answer }: { readonly answer: Answer<unknown> }) {
  if (answer.problem !== null) return <Wrong problem={answer.problem} />;
  return (
    <div class="skeleton slow" role="status">
      <span class="unseen">loading …</span>
      <i />
      <i />
      <i />
    </div>
  );
}

export function Command({ text }: { readonly text: string }) {
  return (
    <span class="with-copy">
      <code class="command">
        {text.split(' ').map((word) => (
          <>
            <span>{word}</span>{' '}
          </>
        ))}
      </code>
      <button type="button" class="quiet" onClick={() => void copy(text, 'command')}>
        copy
      </button>
    </span>
  );
}

/** A part of a record as indented text; what is cut says so. */
export function shownJson(value: Shown, indent = ''): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    if (value.every((item) => typeof item !== 'object' || item === null)) {
      return `[${value.map((item) => JSON.stringify(item)).join(', ')}]`;
    }
    return `[\n${value.map((item) => deeper + shownJson(item, deeper)).join(',\n')}\n${indent}]`;
  }
  const one = value as Readonly<Record<string, Shown>>;
  const cut = one.$cut as { text: string; shown: number; total: number } | undefined;
  if (cut !== undefined) {
    return `${JSON.stringify(cut.text)} … shown in part: ${size(cut.shown)} of ${size(cut.total)}`;
  }
  const packed = one.$packed as { type: string; total: number; first: number[] } | undefined;
  if (packed !== undefined) {
    const more = packed.total > packed.first.length ? ', …' : '';
    return `${packed.type} × ${thousands(packed.total)} [${packed.first.join(', ')}${more}]`;
  }
  if (one.$number !== undefined) return String(one.$number);
  if (one.$more !== undefined) return `… ${one.$more} more`;
  const entries = Object.entries(one);
  if (entries.length === 0) return '{}';
  return `{\n${entries.map(([name, inner]) => `${deeper}${name}: ${shownJson(inner, deeper)}`).join('\n')}\n${indent}}`;
}

/** The text of something that may be cut, and a word about what is missing. */
export function textOf(
  value:
    | string
    | { readonly $cut: { readonly text: string; readonly shown: number; readonly total: number } }
    | null,
): {
  readonly text: string;
  readonly part: string;
} {
  if (value === null) return { text: '', part: '' };
  if (typeof value === 'string') return { text: value, part: '' };
  const { text, shown, total } = value.$cut;
  return { text, part: `shown in part: ${size(shown)} of ${size(total)}` };
}

/** What is wider than its place scrolls in it, by keys as well; the page itself never does. */
export function Scrolls({
  label,
  children,
  class: more = '',
}: {
  readonly label: string;
  readonly children: ComponentChildren;
  readonly class?: string;
}) {
  return (
    <div class={`scroll ${more}`} role="group" tabIndex={0} aria-label={label}>
      {children}
    </div>
  );
}

/** The head of a column: numbers are right-aligned, text left. */
export function Th({
  left = false,
  children,
}: {
  readonly left?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <th class={left ? 'l' : undefined} scope="col">
      {children}
    </th>
  );
}
