/**
 * The text of a Word document (mammoth, which also leaves out what was deleted): paragraphs, lists and rows
 * of tables on lines of their own, no pictures. Runs in a worker thread (pageWorker.ts).
 */
import mammoth from 'mammoth';
import { allText } from './htmlText.ts';
import type { ParsedPage } from './pageParser.ts';
import { repacked } from './unpack.ts';

export async function docxText(bytes: Uint8Array): Promise<ParsedPage> {
  const { value } = await mammoth.convertToHtml(
    { buffer: Buffer.from(repacked(bytes)) },
    {
      includeEmbeddedStyleMap: false,
      externalFileAccess: false,
      convertImage: mammoth.images.imgElement(async () => ({ src: '' })),
    },
  );
  return { title: '', text: allText(value), format: 'docx' };
}
