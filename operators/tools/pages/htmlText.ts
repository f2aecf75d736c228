/**
 * HTML to readable text: what a reader view would show, by Mozilla's Readability; everything visible if a
 * page has no main text, or on request (the papers take all of it). Runs in a worker thread (pageWorker.ts).
 */
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import type { Extract, ParsedPage } from './pageParser.ts';

/** Elements without readable text. */
const UNREAD = 'title,script,style,noscript,template,svg,iframe,object,canvas';
/** Elements on lines of their own. */
const BLOCKS = new Set(
  'ADDRESS ARTICLE ASIDE BLOCKQUOTE BR CAPTION DD DETAILS DIV DL DT FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL P PRE SECTION SUMMARY TABLE TR UL'.split(
    ' ',
  ),
);
/** A shorter main text does not count: Readability does not look for lists, forms and tables. */
const MAIN_MIN = 200;
/**
 * Readability takes time out of proportion to larger pages, which are lists and manuals: all of them is their
 * text.
 */
const ELEMENTS_MAX = 40_000;

export function htmlText(html: string, extract: Extract): ParsedPage {
  const { document } = parseHTML(whole(html));
  const title = document.querySelector('title')?.textContent ?? '';
  for (const element of document.querySelectorAll(UNREAD)) element.remove();
  const all = visibleText(document as never);
  if (extract === 'visible') {
    return { title, text: all.replace(/\s+/g, ' ').trim(), format: 'html' };
  }
  if (document.querySelectorAll('*').length > ELEMENTS_MAX)
    return { title, text: all, format: 'html' };
  const article = new Readability(document as never, { serializer }).parse();
  const main = article?.content ?? '';
  const text = main.length >= Math.min(MAIN_MIN, all.length) ? main : all;
  return { title: article?.title || title, text, format: 'html' };
}

/** All visible text of a piece of HTML, one block per line. */
export function allText(html: string): string {
  return visibleText(parseHTML(whole(html)).document as never);
}

/**
 * The parser takes the first element for the root, so a page that leaves out `<html>`, as it may, gets one.
 */
function whole(html: string): string {
  return /<html[\s>]/i.test(html) ? html : `<!doctype html><html><body>${html}</body></html>`;
}

const serializer = (node: unknown): string => visibleText(node as TreeNode);

/** The part of a DOM node used here. */
interface TreeNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly nodeValue: string | null;
  readonly childNodes: Iterable<TreeNode>;
}

const ELEMENT = 1;
const TEXT = 3;

/**
 * The text of a tree: blocks on lines of their own, cells and items separated, white space collapsed. Any
 * depth.
 */
function visibleText(root: TreeNode | null): string {
  if (root === null) return '';
  const pieces: string[] = [];
  const waiting: (TreeNode | string)[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (typeof node === 'string') pieces.push(node);
    else if (node.nodeType === TEXT) pieces.push((node.nodeValue ?? '').replace(/\s+/g, ' '));
    else if (node.nodeType === ELEMENT || node === root) {
      const block = BLOCKS.has(node.nodeName.toUpperCase());
      const cell = /^T[DH]$/i.test(node.nodeName);
      if (block) {
        pieces.push('\n');
        waiting.push('\n');
      } else if (cell) waiting.push(' ');
      if (/^LI$/i.test(node.nodeName)) pieces.push('- ');
      waiting.push(...[...node.childNodes].reverse());
    }
  }
  return tidy(pieces.join(''));
}

/** No blanks around line ends, and at most one empty line. */
function tidy(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/ +/g, ' ').trim());
  const kept = lines.filter((line, i) => line !== '' || (i > 0 && lines[i - 1] !== ''));
  return kept.join('\n').trim();
}
