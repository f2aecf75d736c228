/**
 * The values in a workbook, sheet by sheet, as CSV (read-excel-file): results of formulas, not the formulas.
 * Runs in a worker thread (pageWorker.ts).
 */
import readWorkbook from 'read-excel-file/universal';
import type { ParsedPage } from './pageParser.ts';
import { repacked } from './unpack.ts';

export async function xlsxText(bytes: Uint8Array): Promise<ParsedPage> {
  const sheets = await readWorkbook(Uint8Array.from(repacked(bytes, checkArea)).buffer, {
    trim: false,
  });
  const texts = sheets.map(({ sheet, data }) => {
    const rows = data.map((row) => row.map(cell).join(',').replace(/,+$/, ''));
    return `Sheet ${sheet}:\n${rows.join('\n')}`;
  });
  return { title: '', text: texts.join('\n\n'), format: 'xlsx' };
}

/** Cells up to the last row and column of a sheet, including empty ones. */
const AREA_MAX = 2_000_000;
/** The position that a row or a cell states. */
const PLACE = /(?<![\w:.-])r\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/**
 * Refuses a sheet whose cells are far apart: the library makes a row of every row and a cell of every column
 * up to the last one, and a thread that asks for too much at once takes the process with it.
 */
function checkArea(part: Uint8Array): void {
  let [rows, columns] = [0, 0];
  for (const [, double, single] of new TextDecoder().decode(part).matchAll(PLACE)) {
    const place = (double ?? single ?? '').trim();
    const known = /^([A-Za-z]{0,3})(\d{1,7})$/.exec(place);
    if (known === null && !/[\d&]/.test(place)) continue;
    const [, letters = 'ZZZZ', digits = '99999999'] = known ?? [];
    rows = Math.max(rows, Number(digits));
    columns = Math.max(columns, columnOf(letters));
    if (rows * columns > AREA_MAX) throw new Error('its cells are too far apart');
  }
}

function columnOf(letters: string): number {
  return [...letters.toUpperCase()].reduce(
    (sum, letter) => 26 * sum + letter.charCodeAt(0) - 64,
    0,
  );
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString().replace(/T00:00:00\.000Z$/, '');
  const text = String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
