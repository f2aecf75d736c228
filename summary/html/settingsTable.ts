/** The settings of a run: those that were changed first and marked, the defaults folded away. */
import { counted } from '../../base/text/index.ts';
import type { ChangedSetting, RunFacts } from '../facts/facts.ts';
import { type Html, html } from './html.ts';
import { scrolling } from './table.ts';

type Row = readonly [key: string, value: unknown];

export function settingsTable({ settings, changed }: Pick<RunFacts, 'settings' | 'changed'>): Html {
  const all = leavesOf(settings);
  if (changed === undefined) return table(all.map(row));
  const own = all.filter(([key]) => changed[key] !== undefined);
  const usual = all.filter(([key]) => changed[key] === undefined);
  const first =
    own.length === 0
      ? html`<p class="muted">all are at the job’s defaults</p>`
      : table(own.map(([key, value]) => changedRow(key, value, changed[key]!)));
  return html`${first}<details><summary>${counted(usual.length, 'setting')} at the job’s default</summary>${table(usual.map(row))}</details>`;
}

/** By dotted key, groups resolved. */
function leavesOf(group: Readonly<Record<string, unknown>>, prefix = ''): Row[] {
  return Object.entries(group).flatMap(([name, value]): Row[] => {
    const key = prefix + name;
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
    const inner = isGroup ? leavesOf(value as Readonly<Record<string, unknown>>, `${key}.`) : [];
    return inner.length > 0 ? inner : [[key, value]];
  });
}

function table(rows: readonly Html[]): Html {
  return scrolling(html`<table class="settings"><tbody>${rows}</tbody></table>`);
}

function row([key, value]: Row): Html {
  return html`<tr><td class="key">${key}</td><td>${text(value)}</td></tr>`;
}

function changedRow(key: string, value: unknown, { from, default: usual }: ChangedSetting): Html {
  const was = usual === undefined ? '' : `default ${text(usual)}`;
  return html`<tr class="changed"><td class="key">${key}</td><td><b>${text(value)}</b></td><td class="muted">${was}</td><td class="muted">${from}</td></tr>`;
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? '';
}
