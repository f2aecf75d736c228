/**
 * Bytes of a page as text, in its encoding: by a byte order mark, then the server's header, then the page's
 * first kilobyte, then UTF-8 if the bytes are valid, and Windows-1252 otherwise, like browsers.
 */

const SNIFFED = 1024;
const FALLBACK = 'windows-1252';

/** `contentType` is the header as it came. */
export function decodePage(bytes: Uint8Array, contentType: string): string {
  const label = markOf(bytes) ?? known(charsetIn(contentType)) ?? known(declaredIn(bytes));
  if (label !== undefined) return new TextDecoder(label).decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder(FALLBACK).decode(bytes);
  }
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined;
}

/** The `charset` of a content type. */
function charsetIn(text: string): string {
  return /charset\s*=\s*["']?([\w:.-]{1,40})/i.exec(text.slice(0, SNIFFED))?.[1] ?? '';
}

/** What a page says about its encoding: `<meta charset>`, `<meta http-equiv>` or an XML declaration. */
function declaredIn(bytes: Uint8Array): string {
  const start = Buffer.from(bytes.subarray(0, SNIFFED)).toString('latin1');
  const label = /^\s*<\?xml[^>]{0,200}encoding\s*=\s*["']([\w:.-]{1,40})/i.exec(start)?.[1];
  const said = label ?? charsetIn(/<meta[^>]{0,400}charset[^>]{0,60}/i.exec(start)?.[0] ?? '');
  // A page that was readable so far has no wide encoding, whatever it says.
  return /^utf-?16/i.test(said) ? 'utf-8' : said;
}

/** Undefined for an unknown encoding. */
function known(label: string): string | undefined {
  try {
    return label === '' ? undefined : new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}
