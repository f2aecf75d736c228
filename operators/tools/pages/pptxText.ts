/**
 * The text of a presentation, slide by slide, a paragraph a line. Runs in a worker thread (pageWorker.ts).
 */
import { DOMParser } from 'linkedom';
import type { ParsedPage } from './pageParser.ts';
import { unpack } from './unpack.ts';

const SLIDE = /^ppt\/slides\/slide(\d+)\.xml$/;

export function pptxText(bytes: Uint8Array): ParsedPage {
  const slides = [...unpack(bytes, (name) => SLIDE.test(name))]
    .map(([name, xml]) => ({ number: Number(SLIDE.exec(name)![1]), text: slideText(xml) }))
    .sort((a, b) => a.number - b.number);
  const texts = slides.map(({ number, text }) => `Slide ${number}:\n${text}`);
  return { title: '', text: texts.join('\n\n'), format: 'pptx' };
}

function slideText(xml: Uint8Array): string {
  const document = new DOMParser().parseFromString(new TextDecoder().decode(xml), 'text/xml');
  const paragraphs = [...document.getElementsByTagName('a:p')].map((paragraph) =>
    [...paragraph.getElementsByTagName('a:t')].map(({ textContent }) => textContent).join(''),
  );
  return paragraphs.filter((text) => text.trim() !== '').join('\n');
}
