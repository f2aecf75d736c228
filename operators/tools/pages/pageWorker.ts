/**
 * Entry of the thread that turns pages into text (pageParser.ts): whatever a page does to a parser happens
 * here, where time and memory are bounded and the run's event loop is not held up.
 */
import { messageOf, serve } from '../../../base/index.ts';
import { decodePage } from './charset.ts';
import { contentTypeOf } from './contentType.ts';
import type { PageBytes, ParsedPage } from './pageParser.ts';

serve({ parse });

function parse(page: PageBytes): Promise<ParsedPage> {
  return parsed(page, true);
}

async function parsed(page: PageBytes, outermost: boolean): Promise<ParsedPage> {
  const { bytes, contentType, extract } = page;
  const format = formatOf(bytes, contentType);
  if (format === 'pdf') return (await import('./pdfText.ts')).pdfText(bytes);
  if (format === 'zip') {
    const { archiveText } = await import('./archiveText.ts');
    return archiveText(bytes, outermost ? memberText : null);
  }
  const text = decodePage(bytes, contentType);
  if (format === 'text') return { title: '', text, format };
  return (await import('./htmlText.ts')).htmlText(text, extract);
}

/** A file in an archive; if it cannot be read, the reason takes its place. */
async function memberText(bytes: Uint8Array, name: string): Promise<string> {
  try {
    const page = { bytes, contentType: contentTypeOf(name), extract: 'readable' } as const;
    const { text, format } = await parsed(page, false);
    return format === 'text' && text.includes('\0') ? '(not a text)' : text;
  } catch (error) {
    return `(it cannot be read: ${messageOf(error)})`;
  }
}

/** By the first bytes if they are distinctive, otherwise by the header. */
function formatOf(bytes: Uint8Array, contentType: string): 'html' | 'pdf' | 'text' | 'zip' {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase();
  if (start.startsWith('PK\x03\x04')) return 'zip';
  if (start.includes('%PDF-') || type === 'application/pdf') return 'pdf';
  if (/html|xml/.test(type)) return 'html';
  if (type === '' || type === 'application/octet-stream')
    return /^\s*</.test(start) ? 'html' : 'text';
  return 'text';
}
