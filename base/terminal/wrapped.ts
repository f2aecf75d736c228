/** Wraps text between its words or its parts. */

/** Lines of at most `width` characters; a longer word has a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || longer.length <= width) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return line === '' ? lines : [...lines, line];
}

/** Wraps a line of parts between parts, the later lines indented. */
export function folded(line: string, columns: number): string {
  const lines: string[] = [];
  for (const part of line.split(' · ')) {
    const longer = `${lines.at(-1) ?? ''} · ${part}`;
    if (lines.length > 0 && longer.length < columns) lines[lines.length - 1] = longer;
    else lines.push(lines.length === 0 ? part : `  ${part}`);
  }
  return lines.join('\n');
}
