/**
 * The page, a run's data and its report in one file that makes no requests: the built page with its script
 * and style within, allowed by their digests and nothing else by a Content-Security-Policy of its own. The
 * report is in a shadow root, so that its style and the page's do not meet: it can be read without a script,
 * and with one it is a view of the page.
 */
import { createHash } from 'node:crypto';
import { html, type Page, style as reportStyle } from '../../../summary/html/index.ts';
import { FROZEN_ID, type Frozen, RESULTS_ID } from '../../wire/index.ts';
import type { Assets } from '../http/assets.ts';

/** Bytes of the whole file. */
export const FILE_MAX = 20_000_000;

/** Null if the page was not built. */
export function frozenPage(assets: Assets, frozen: Frozen, report: Page): string | null {
  const index = assets.index === null ? null : textOf(assets.index.body);
  const style = index === null ? null : inlined(assets, index, /href="([^"]+\.css)"/);
  const script = index === null ? null : inlined(assets, index, /src="([^"]+\.js)"/);
  if (style === null || script === null) return null;
  // Inside a script element only its own end tag ends it.
  const code = script.replaceAll('</script', '<\\/script');
  const policy = [
    "default-src 'none'",
    `script-src '${digestOf(code)}'`,
    `style-src '${digestOf(style)}' '${digestOf(reportStyle.markup)}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types millrace',
  ].join('; ');
  const data = JSON.stringify(frozen).replaceAll('<', '\\u003c');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
${html`<title>${report.title}</title>`.markup}
<style>${style}</style>
</head>
<body>
<div id="page">
<main><div id="${RESULTS_ID}"><template shadowrootmode="open"><style>${reportStyle.markup}</style>
${report.body.markup}
</template></div><p class="note">The other views of this file need JavaScript.</p></main>
</div>
<script type="application/json" id="${FROZEN_ID}">${data}</script>
<script type="module">${code}</script>
</body>
</html>
`;
}

function inlined({ file }: Assets, index: string, named: RegExp): string | null {
  const path = named.exec(index)?.[1];
  const found = path === undefined ? null : file(path);
  return found === null ? null : textOf(found.body);
}

function textOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
}

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
