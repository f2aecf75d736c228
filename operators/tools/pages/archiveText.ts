/**
 * The text of an archive: of Office documents, which are archives themselves, or of the files in it. Its
 * files show what it is, not its name. Runs in a worker thread (pageWorker.ts).
 */
import type { ParsedPage } from './pageParser.ts';
import { type Entry, entriesOf, unpack } from './unpack.ts';

/** Reads a file that is in an archive. */
export type ReadMember = (bytes: Uint8Array, name: string) => Promise<string>;

/** Limit of files shown of an archive; the rest are counted. */
const MEMBERS_MAX = 20;

/** `readMember` = null for an archive within an archive, whose files are only named. */
export async function archiveText(
  bytes: Uint8Array,
  readMember: ReadMember | null,
): Promise<ParsedPage> {
  const entries = entriesOf(bytes);
  const has = (name: string) => entries.some((entry) => entry.name === name);
  if (has('word/document.xml')) return (await import('./docxText.ts')).docxText(bytes);
  if (has('xl/workbook.xml')) return (await import('./xlsxText.ts')).xlsxText(bytes);
  if (has('ppt/presentation.xml')) return (await import('./pptxText.ts')).pptxText(bytes);
  const text = [listed(entries), ...(readMember === null ? [] : await read(bytes, readMember))];
  return { title: '', text: text.join('\n\n'), format: 'zip' };
}

function listed(entries: readonly Entry[]): string {
  const shown = entries.slice(0, MEMBERS_MAX).map(({ name, size }) => `${name} (${size} bytes)`);
  const rest = entries.length - shown.length;
  const more = rest > 0 ? [`and ${rest} more`] : [];
  return [`An archive of ${entries.length} files:`, ...shown, ...more].join('\n');
}

async function read(bytes: Uint8Array, readMember: ReadMember): Promise<string[]> {
  const names = new Set(
    entriesOf(bytes)
      .slice(0, MEMBERS_MAX)
      .map(({ name }) => name),
  );
  const texts: string[] = [];
  for (const [name, member] of unpack(bytes, (one) => names.has(one))) {
    texts.push(`--- ${name} ---\n${await readMember(member, name)}`);
  }
  return texts;
}
