/**
 * The merges of a SentencePiece vocabulary, which has scores instead: every way to make a token of two
 * others, best scores first, as transformers derives them.
 */
type Merge = readonly [left: string, right: string];

export function mergesByScore(
  tokens: readonly string[],
  scores: readonly number[],
): readonly Merge[] {
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const found = tokens.flatMap((token, id) =>
    waysTo(token, ids).map((merge) => ({ merge, score: scores[id]! })),
  );
  const size = (text: string) => [...text].length;
  const sized = found.map((each) => ({
    ...each,
    left: size(each.merge[0]),
    right: size(each.merge[1]),
  }));
  sized.sort((a, b) => b.score - a.score || b.left - a.left || b.right - a.right);
  return sized.map(({ merge }) => merge);
}

/** By the ids of both parts. */
function waysTo(token: string, ids: ReadonlyMap<string, number>): readonly Merge[] {
  const characters = [...token];
  const ways: Merge[] = [];
  for (let i = 1; i < characters.length; i++) {
    const left = characters.slice(0, i).join('');
    const right = characters.slice(i).join('');
    if (ids.has(left) && ids.has(right)) ways.push([left, right]);
  }
  return ways.sort(([a, b], [c, d]) => ids.get(a)! - ids.get(c)! || ids.get(b)! - ids.get(d)!);
}
