/**
 * A normal form of final answers to mathematical questions after Minerva (Lewkowycz et al., 2022, appendix
 * D.1), with the additions of Tool-Star (§3.5). It deletes units and words, also inside other words: compare
 * with it, never show it.
 */
import { strip } from './characters.ts';

const REPLACED: readonly (readonly [from: string, to: string])[] = [
  ['an ', ''],
  ['.$', '$'],
  ['\\$', ''],
  ['\\ ', ''],
  [' ', ''],
  ['mbox', 'text'],
  [',\\text{and}', ','],
  ['\\text{and}', ','],
  ['\\text{m}', '\\text{}'],
  ['\\left', ''],
  ['\\right', ''],
  ['∶', ':'],
  ['，', ','],
  ['$', ''],
  ['\\approx', '='],
  ['\\simeq', '='],
  ['\\sim', '='],
  ['^\\prime', "'"],
  ['^{\\prime}', "'"],
  ['\\dfrac', '\\frac'],
  ['\\tfrac', '\\frac'],
  ['^\\circ', ''],
  ['%', ''],
  ['√', '\\sqrt'],
  ['∞', '\\infty'],
  ['∪', '\\cup'],
];

const DELETED: readonly string[] = [
  ...['square', 'ways', 'integers', 'dollars', 'mph', 'inches', 'hours', 'km', 'units', '\\ldots'],
  ...['sue', 'points', 'feet', 'minutes', 'digits', 'cents', 'degrees', 'cm', 'gm', 'pounds'],
  ...['meters', 'meals', 'edges', 'students', 'childrentickets', 'multiples', '\\text{s}'],
  ...['\\text{.}', '\\text{\ns}', '\\text{}^2', '\\text{}^3', '\\text{\n}', '\\text{}'],
  ...['\\mathrm{th}', '^\\circ', '^{\\circ}', '\\;', ',\\!', '{,}', '"', '\\dots'],
];

/** The normal form of one answer. */
export function finalAnswerForm(text: string): string {
  let form = withoutMathDelimiters(strip(text));
  for (const [from, to] of REPLACED) form = form.replaceAll(from, () => to);
  for (const word of DELETED) form = form.replaceAll(word, '');
  form = withBraces(unwrapCommands(form)).replaceAll('$', '');
  const digits = form.replaceAll(',', '');
  if (/^[\p{Nd}²³¹⁰⁴-⁹₀-₉]+$/u.test(digits)) form = digits;
  return strip(withoutMathDelimiters(form));
}

/** Removes one opening and one closing `\(` or `\[`. */
function withoutMathDelimiters(text: string): string {
  return text.replace(/^\\[([]/, '').replace(/\\[)\]]$/, '');
}

/**
 * Each line without these commands: the first three end at the next brace, a box at the last one of its line.
 */
function unwrapCommands(text: string): string {
  return text.replace(/[^\n\r\u2028\u2029]+/g, (line) => {
    const plain = ['\\text{', '\\textbf{', '\\overline{'].reduce(unwrapped, line);
    const open = plain.indexOf(BOX);
    const close = plain.lastIndexOf('}');
    if (open < 0 || close < open) return plain;
    return plain.slice(0, open) + plain.slice(open + BOX.length, close) + plain.slice(close + 1);
  });
}
const BOX = '\\boxed{';

/** Removes `command` and the brace that closes next, wherever it occurs. */
function unwrapped(line: string, command: string): string {
  let result = '';
  let from = 0;
  for (let open = line.indexOf(command); open >= 0; open = line.indexOf(command, from)) {
    const close = line.indexOf('}', open + command.length);
    if (close < 0) break;
    result += line.slice(from, open) + line.slice(open + command.length, close);
    from = close + 1;
  }
  return result + line.slice(from);
}

/** `frac12` becomes `frac{1}{2}` and `sqrt3` becomes `sqrt{3}`. */
function withBraces(text: string): string {
  return text.replace(/frac([^{])(.)/gu, 'frac{$1}{$2}').replace(/sqrt([^{])/gu, 'sqrt{$1}');
}
