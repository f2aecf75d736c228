/**
 * The names of the invented world, made once from syllables by keyed draws: the same for every seed, so that
 * each is one token of the policy. The seed decides which name belongs to whom, and every fact.
 */
import { draws } from 'millrace';

const ONSETS = [
  'b',
  'br',
  'c',
  'd',
  'dr',
  'f',
  'g',
  'h',
  'j',
  'k',
  'l',
  'm',
  'n',
  'p',
  'r',
  's',
  'st',
  't',
  'tr',
  'v',
];
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ai', 'ea', 'ou'];
const CODAS = ['l', 'n', 'r', 's', 'm', 'th', 'nd', 'rk', 'lm', 'ss'];

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `count` different names of two syllables that end in one of `endings`. */
function coin(
  kind: string,
  count: number,
  endings: readonly string[],
  taken: Set<string>,
): string[] {
  const stream = draws('quickstart-names', kind);
  const names: string[] = [];
  for (let i = 0; names.length < count; i++) {
    const pick = (list: readonly string[], slot: number): string =>
      list[stream.integer(i * 8 + slot, list.length)]!;
    const name = capital(pick(ONSETS, 0) + pick(VOWELS, 1) + pick(CODAS, 2) + pick(endings, 3));
    if (taken.has(name)) continue;
    taken.add(name);
    names.push(name);
  }
  return names;
}

const taken = new Set<string>();
export const FIRST_NAMES = coin('first', 60, ['a', 'o', 'in', 'el', 'us', 'ia'], taken);
export const LAST_NAMES = coin('last', 80, ['er', 'son', 'ley', 'wick', 'man', 'ov'], taken);
export const TOWNS = coin('town', 60, ['ton', 'ham', 'burg', 'dale', 'port', 'ford'], taken);
export const RIVERS = coin('river', 40, ['ene', 'awa', 'il', 'ara', 'eth'], taken);
export const FIRM_NAMES = coin('firm', 60, ['co', 'ex', 'ium', 'is', 'ax'], taken);
export const FIRM_KINDS = ['Mills', 'Works', 'Press', 'Foundry', 'Bakery', 'Motors'];
