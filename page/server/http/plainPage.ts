/**
 * Pages without the client: what a browser without the token sees, and links to the data if the page was
 * not built.
 */

import { type Html, html } from '../../../summary/html/index.ts';
import { dataPath, pathOf } from '../../wire/index.ts';

export function plainPage(title: string, lines: readonly Html[], head = html``): string {
  const body = lines.map(
    (line) => html`<p>${line}</p>
`,
  );
  const page = html`<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${head}<title>${title}</title></head><body>
<h1>${title}</h1>
${body}</body></html>
`;
  return `<!doctype html>\n${page.markup}`;
}

/**
 * Requests the same address again, this time from a page of our own, so that the browser sends the cookie.
 */
export function againPage(path: string): string {
  const head = html`<meta http-equiv="refresh" content="0;url=${path}">`;
  return plainPage('Millrace', [html`<a href="${path}">continue</a>`], head);
}

/** Views that need nothing but a run. */
const plainViews = ['overview', 'metrics', 'topics', 'pareto', 'replay'] as const;

/** The page, if the client was not built. */
export function dataPage(runs: readonly string[]): string {
  const link = (href: string): Html => html`<a href="${href}">${href}</a> `;
  const rows = runs.map((run) => {
    const at = plainViews.map((page) => dataPath(pathOf({ page, run, id: '' })));
    return html`${run}: ${at.map(link)}`;
  });
  const missing = html`The page has not been built; here are its data.`;
  return plainPage('Millrace', [missing, link('/runs.json'), ...rows]);
}
