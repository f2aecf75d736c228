/** A table as HTML, in a box that scrolls sideways if it is too wide. */
import type { Table } from '../../base/terminal/index.ts';
import { type Html, html } from './html.ts';

/** `quiet` = how many rows at the end (means, say) are muted. */
export function htmlTable({ columns, rows }: Table, { quiet = 0 } = {}): Html {
  const classOf = (column: number): string => columns[column]?.align ?? 'left';
  const cells = (row: readonly string[]): Html[] =>
    row.map((text, i) => html`<td class="${classOf(i)}">${text}</td>`);
  const body = rows.map((row, i) =>
    i < rows.length - quiet
      ? html`<tr>${cells(row)}</tr>`
      : html`<tr class="mean">${cells(row)}</tr>`,
  );
  return scrolling(html`<table><thead><tr>${columns.map(({ label, align }) => html`<th class="${align}">${label}</th>`)}</tr></thead>
<tbody>${body}</tbody></table>`);
}

/** A box for anything that may be too wide: scrolls, also by keys. */
export function scrolling(table: Html): Html {
  return html`<div class="scroll" role="group" tabindex="0" aria-label="table">${table}</div>`;
}
