/** A long text in blocks of whole lines, so that a browser lays out only those that are near. Pure. */
const blockMin = 2000;

/** Every block but the last ends with a line feed; together they are the text. */
export function blocksOf(text: string): readonly string[] {
  const blocks: string[] = [];
  let start = 0;
  while (text.length - start > blockMin) {
    const end = text.indexOf('\n', start + blockMin);
    if (end < 0) break;
    blocks.push(text.slice(start, end + 1));
    start = end + 1;
  }
  blocks.push(text.slice(start));
  return blocks;
}

/** Tags that structure what a policy writes: where they are, and what they are about. */
export interface Tag {
  readonly start: number;
  readonly end: number;
  readonly kind: 'think' | 'answer' | 'tool' | 'result';
}

const kinds: Readonly<Record<string, Tag['kind']>> = {
  think: 'think',
  answer: 'answer',
  result: 'result',
  tool_response: 'result',
};

export function tagsOf(text: string): readonly Tag[] {
  return [...text.matchAll(/<\/?([a-z_]{2,24})>/g)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    kind: kinds[match[1]!] ?? 'tool',
  }));
}
