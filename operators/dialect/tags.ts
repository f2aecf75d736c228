/**
 * Tag pairs in a trajectory: `<search>query</search>`, `<python>…</python>`, `<result>…</result>`, …
 *
 * Everything here reads left to right and greedily, without nesting: the first opening tag takes the first
 * closing tag after it.
 */

/** The text between a tag pair, and where the pair is in the text (`end` is exclusive). */
export interface Block {
  readonly inner: string;
  readonly start: number;
  readonly end: number;
}

/** The first pair of `tag` at or after `from`; null if there is none. */
export function nextBlock(text: string, tag: string, from = 0): Block | null {
  const open = `<${tag}>`;
  const close = `</${tag}>`;
  const start = text.indexOf(open, from);
  if (start < 0) return null;
  const closeAt = text.indexOf(close, start + open.length);
  if (closeAt < 0) return null;
  return { inner: text.slice(start + open.length, closeAt), start, end: closeAt + close.length };
}

/**
 * Finds parts of a text from left to right. It remembers what it found or missed, so a reader that goes
 * through a text once takes time in proportion to its length.
 */
export class Finder {
  readonly text: string;
  readonly #known = new Map<string, { readonly from: number; readonly at: number }>();

  constructor(text: string) {
    this.text = text;
  }

  /** Where `part` begins at or after `from`; -1 if there is none. */
  find(part: string, from: number): number {
    const known = this.#known.get(part);
    if (known !== undefined && known.from <= from && (known.at < 0 || known.at >= from)) {
      return known.at;
    }
    const at = this.text.indexOf(part, from);
    this.#known.set(part, { from, at });
    return at;
  }

  /** The first pair of `tag` at or after `from`, as `nextBlock`. */
  block(tag: string, from: number): Block | null {
    const open = `<${tag}>`;
    const close = `</${tag}>`;
    const start = this.find(open, from);
    if (start < 0) return null;
    const closeAt = this.find(close, start + open.length);
    if (closeAt < 0) return null;
    const inner = this.text.slice(start + open.length, closeAt);
    return { inner, start, end: closeAt + close.length };
  }
}

/** Every pair of `tag`, in order. */
export function blocks(text: string, tag: string): Block[] {
  const found: Block[] = [];
  let block = nextBlock(text, tag);
  while (block !== null) {
    found.push(block);
    block = nextBlock(text, tag, block.end);
  }
  return found;
}

/** The text without the pairs of `tag` and their contents. */
export function withoutBlocks(text: string, tag: string): string {
  let kept = '';
  let from = 0;
  for (const block of blocks(text, tag)) {
    kept += text.slice(from, block.start);
    from = block.end;
  }
  return kept + text.slice(from);
}

/** Number of pairs of `tag`. */
export function countPairs(text: string, tag: string): number {
  return blocks(text, tag).length;
}

/** Number of finished tool calls: pairs of any of the tools' tags. */
export function countToolCalls(text: string, tools: readonly string[]): number {
  return tools.reduce((total, tool) => total + countPairs(text, tool), 0);
}

/** How many of `tools` a text calls, each counted once. */
export function countToolsUsed(text: string, tools: readonly string[]): number {
  return tools.filter((tool) => nextBlock(text, tool) !== null).length;
}

/** The tags of these tools as an instruction names them: `<search></search> or <python></python>`. */
export function tagPairs(tools: readonly string[]): string {
  return tools.map((tool) => `<${tool}></${tool}>`).join(' or ');
}

/** Whether any of the tags opens or closes in a text. */
export function hasTag(text: string, tags: readonly string[]): boolean {
  return tags.some((tag) => text.includes(`<${tag}>`) || text.includes(`</${tag}>`));
}

/** Number of places where `part` occurs, not overlapping. */
export function occurrences(text: string, part: string): number {
  return text.split(part).length - 1;
}
