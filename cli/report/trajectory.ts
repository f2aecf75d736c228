/** A trajectory with its tags highlighted. The text may be anything; tags need not pair. */
import { type Html, html } from './html.ts';

const tags = /<\/?(think|search|python|result|answer)>/g;

/** The text in pieces, flat: a tag opens a colour, any closing tag ends it. The style puts open tags on new lines. */
export function highlighted(text: string): Html {
  const pieces: Html[] = [];
  let open: string | null = null;
  let from = 0;
  const put = (end: number): void => {
    const piece = text.slice(from, end);
    if (piece === '') return;
    pieces.push(open === null ? html`${piece}` : html`<span class="t-${open}">${piece}</span>`);
  };
  for (const match of text.matchAll(tags)) {
    put(match.index);
    from = match.index + match[0].length;
    const closing = match[0].startsWith('</');
    const classes = closing || match.index === 0 ? `t-${match[1]!}` : `t-${match[1]!} open`;
    pieces.push(html`<b class="${classes}">${match[0]}</b>`);
    open = closing ? null : match[1]!;
  }
  put(text.length);
  return html`${pieces}`;
}
