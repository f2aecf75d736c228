/**
 * Entry of the thread that turns pages into text (pageParser.ts): whatever a page does to a parser happens
 * here, where time and memory are bounded and the event loop of the run is not held up.
 */
import { serve } from '../../../base/index.ts';
import { decodePage } from './charset.ts';
import type { PageBytes, ParsedPage } from './pageParser.ts';

serve({ parse });

async function parse({ bytes, contentType, extract }: PageBytes): Promise<ParsedPage> {
  const format = formatOf(bytes, contentType);
  if (format === 'pdf') return (await import('./pdfText.ts')).pdfText(bytes);
  const text = decodePage(bytes, contentType);
  if (format === 'text') return { title: '', text, format };
  return (await import('./htmlText.ts')).htmlText(text, extract);
}

/** By the first bytes if they are distinctive, else by the header. */
function formatOf(bytes: Uint8Array, contentType: string): ParsedPage['format'] {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase();
  if (start.includes('%PDF-') || type === 'application/pdf') return 'pdf';
  if (/html|xml/.test(type)) return 'html';
  if (type === '' || type === 'application/octet-stream')
    return /^\s*</.test(start) ? 'html' : 'text';
  return 'text';
}
