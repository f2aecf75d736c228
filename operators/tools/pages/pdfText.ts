/**
 * The text of a PDF file, page by page, by Mozilla's pdf.js (as unpdf packs it). Runs in a worker thread
 * (pageWorker.ts).
 */
import { extractText, getDocumentProxy, getMeta } from 'unpdf';
import type { ParsedPage } from './pageParser.ts';
import { checkPdfStreams } from './pdfStreams.ts';

/** Fails if the bytes are not a PDF, or one with a password. */
export async function pdfText(bytes: Uint8Array): Promise<ParsedPage> {
  checkPdfStreams(bytes);
  const document = await getDocumentProxy(bytes, { isEvalSupported: false, verbosity: 0 });
  try {
    const { text } = await extractText(document, { mergePages: false });
    const meta = await getMeta(document).catch(() => null);
    const title: unknown = meta?.info?.Title;
    return {
      title: typeof title === 'string' ? title : '',
      text: text
        .map((page) => page.trim())
        .filter((page) => page !== '')
        .join('\n\n'),
      format: 'pdf',
    };
  } finally {
    await document.destroy();
  }
}
