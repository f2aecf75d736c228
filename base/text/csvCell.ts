/**
 * A CSV cell that a spreadsheet shows and does not run.
 *
 * Spreadsheets take text that begins with `=`, `+`, `-`, `@`, a tab or an end of line for a formula, which
 * may read other cells and fetch addresses. Such text gets a leading apostrophe; a number stays a number.
 */
import { visibleLines } from './visible.ts';

const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$|^-?Infinity$/i;

export function csvCell(value: string | number): string {
  const text = String(value);
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return visibleLines(safe);
}
