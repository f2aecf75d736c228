/** A table in Markdown. */
export function table(
  head: readonly string[],
  rows: readonly (readonly (string | undefined)[])[],
): string {
  const line = (cells: readonly (string | undefined)[]): string =>
    `| ${cells.map((cell = '') => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}

/** A sentence of the program as Markdown: only code is markup, and a page that it names becomes a link. */
export function sentence(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replace(/[<>*_[\]{}]/g, '\\$&')))
    .join('')
    .replace(/\bdocs\/(\w+\.md)\b/g, '[$1](../$1)');
}

/** The entries of a map grouped by their text, in order of first occurrence. */
export function grouped<K, V>(
  entries: Iterable<readonly [K, V]>,
  by: (key: K, value: V) => string,
): Map<string, (readonly [K, V])[]> {
  const groups = new Map<string, (readonly [K, V])[]>();
  for (const entry of entries) {
    const name = by(...entry);
    groups.set(name, [...(groups.get(name) ?? []), entry]);
  }
  return groups;
}
