/**
 * The figures of held-out questions before and after, one row each: values with their intervals, both on a
 * line of their own scale, and what changed. What may be chance (the interval holds 0) has no colour.
 */
import type { Interval } from '../../operators/metrics/index.ts';
import type { Behaviour } from '../behaviour.ts';
import { fixed, hundred, orDash, percent, type Show, signed } from '../format/numbers.ts';
import type { Results } from '../results.ts';
import {
  changeIntervalText,
  changeOf,
  differenceOf,
  directionOf,
  figureOf,
  figures,
  intervalOf,
  intervalText,
} from '../tables/figures.ts';
import { type Html, html } from './html.ts';
import { roundedUp } from './radar.ts';
import { scrolling } from './table.ts';

/** A value, and its interval. */
interface Value {
  readonly value: number | null;
  readonly interval: Interval | null;
  readonly ends: string;
}

interface Row {
  readonly label: string;
  readonly about: string;
  readonly show: Show;
  readonly before: Value;
  readonly after: Value;
  readonly change: string;
  readonly changeEnds: string;
  readonly direction: 'good' | 'bad' | 'unsure';
  /** Width of the scale, which begins at 0. */
  readonly end: number;
}

export function figuresTable(results: Results): Html {
  const rows = [...figureRows(results), ...behaviourRows(results)];
  return scrolling(html`<table class="figures"><thead><tr><th class="left">figure</th><th colspan="2">before</th><th colspan="2">after</th><th class="left scale"><span class="before">○</span> before <span class="after">●</span> after</th><th colspan="2">change</th></tr></thead>
<tbody>${rows.map(rowOf)}</tbody></table>`);
}

function figureRows({ before, after, change }: Results): Row[] {
  return figures.map((figure) => {
    const value = (of: typeof before): Value => {
      const interval = intervalOf(of?.intervals, figure);
      return { value: figureOf(of, figure), interval, ends: intervalText(interval, figure) };
    };
    const [first, last] = [value(before), value(after)];
    const difference = differenceOf(before, after, figure);
    const known = changeOf(change, figure);
    return {
      label: figure.label,
      about: figure.about,
      show: figure.show,
      before: first,
      after: last,
      change: difference === null ? '' : figure.change(difference),
      changeEnds: changeIntervalText(known, figure),
      direction: directionOf(known, figure),
      end: figure.better === 'more' ? 1 : endOf(first, last),
    };
  });
}

const measures: readonly {
  readonly key: keyof Behaviour;
  readonly label: string;
  readonly about: string;
  readonly show: Show;
  readonly change: Show;
  readonly end?: number;
}[] = [
  {
    key: 'successfulExecution',
    label: 'successful execution',
    about: 'right answers per failed call',
    show: percent,
    change: (value) => `${signed(value, hundred)} points`,
    end: 1,
  },
  {
    key: 'conciseness',
    label: 'conciseness',
    about: 'responses without redundant calls',
    show: percent,
    change: (value) => `${signed(value, hundred)} points`,
    end: 1,
  },
  {
    key: 'reasoningLength',
    label: 'reasoning length',
    about: 'right answers per 1000 tokens written',
    show: fixed(1),
    change: (value) => signed(value, fixed(1)),
  },
];

/** What the figures lack; a row without measurements is left out. */
function behaviourRows({ behaviour: { before, after } }: Results): Row[] {
  return measures.flatMap(({ key, end, ...measure }) => {
    const [first, last] = [plain(before?.[key]), plain(after?.[key])];
    if (first.value === null && last.value === null) return [];
    const known = first.value !== null && last.value !== null;
    return [
      {
        ...measure,
        before: first,
        after: last,
        change: known ? measure.change(last.value - first.value) : '',
        changeEnds: '',
        direction: 'unsure',
        end: end ?? endOf(first, last),
      },
    ];
  });
}

function plain(value: number | null | undefined): Value {
  return { value: value ?? null, interval: null, ends: '' };
}

function endOf(...values: readonly Value[]): number {
  return roundedUp(values.flatMap(({ value, interval }) => [value, interval?.high ?? null]));
}

function rowOf(row: Row): Html {
  const { label, about, show, before, after, change, changeEnds, direction } = row;
  const cells = ({ value, ends }: Value): Html =>
    html`<td><b>${orDash(value, show)}</b></td><td class="ends">${ends}</td>`;
  return html`<tr><td class="left"><b>${label}</b>${about === '' ? null : html`<small>${about}</small>`}</td>${cells(before)}${cells(after)}
<td class="scale">${scale(row)}</td><td class="${direction}">${change}</td><td class="ends">${changeEnds}</td></tr>`;
}

const size = { width: 220, height: 26, left: 6, right: 42 };

/** Before as a ring, after as a disc, intervals as bars behind them. */
function scale({ before, after, end, show }: Row): Html {
  const at = (value: number): number =>
    Math.round(
      (size.left + Math.min(1, value / end) * (size.width - size.left - size.right)) * 10,
    ) / 10;
  const mark = ({ value, interval }: Value, name: 'before' | 'after', y: number): Html | null => {
    if (value === null) return null;
    const bar =
      interval === null
        ? null
        : html`<line class="interval" x1="${at(interval.low)}" x2="${at(interval.high)}" y1="${y}" y2="${y}"/>`;
    return html`<g class="${name}">${bar}<circle cx="${at(value)}" cy="${y}" r="4"><title>${name}: ${show(value)}</title></circle></g>`;
  };
  return html`<svg viewBox="0 0 ${size.width} ${size.height}" aria-hidden="true"><line class="grid" x1="${size.left}" x2="${at(end)}" y1="13" y2="13"/>
${mark(before, 'before', 8)}${mark(after, 'after', 18)}<text class="tick" x="${at(end) + 5}" y="17">${end === 1 ? '100 %' : String(end)}</text></svg>`;
}
