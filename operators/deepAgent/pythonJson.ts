/**
 * JSON as Python's `json.dumps` writes it: `", "` and `": "` between, or lines with an indent, and everything
 * outside of ASCII escaped. Limits of the method count the characters of this form.
 *
 * A number has no kind in JavaScript: 1.0 is written 1.
 */

/** `indent` = spaces per level; left out = all on one line. Values as `JSON.parse` gives them. */
export function pythonJson(value: unknown, indent?: number): string {
  return written(value, indent, '');
}

function written(value: unknown, indent: number | undefined, margin: string): string {
  if (typeof value === 'number') return numeral(value);
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return String(value ?? null);
  const inner = indent === undefined ? '' : `${margin}${' '.repeat(indent)}`;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const items = Array.isArray(value)
    ? value.map((item) => written(item, indent, inner))
    : Object.entries(value).map(([key, item]) => `${quoted(key)}: ${written(item, indent, inner)}`);
  if (items.length === 0) return `${open}${close}`;
  if (indent === undefined) return `${open}${items.join(', ')}${close}`;
  return `${open}\n${inner}${items.join(`,\n${inner}`)}\n${margin}${close}`;
}

/** Whole numbers plainly; others like Python's repr: 1e-07, 1e+22. */
function numeral(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  if (Number.isSafeInteger(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e16 || size < 1e-4) {
    const [digits = '', exponent = ''] = value.toExponential().split('e');
    const sign = exponent.startsWith('-') ? '-' : '+';
    return `${digits}e${sign}${exponent.replace(/^[+-]/, '').padStart(2, '0')}`;
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
