/**
 * The frame of a page: self-contained, no script, no other file, no request. What a model wrote is shown as
 * text; the content policy in the head forbids the rest if anything slips through.
 */
import { type Html, html } from './html.ts';
import { style } from './style.ts';

export interface Page {
  readonly title: string;
  readonly body: Html;
}

export function pageOf({ title, body }: Page): string {
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>${style}</style></head><body>
${body}
</body></html>
`;
  return page.markup;
}

/** Replaces missing contents. */
export function muted(text: string): Html {
  return html`<p class="muted">${text}</p>`;
}
