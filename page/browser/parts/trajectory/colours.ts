/**
 * What is coloured in the text of a trajectory, as highlights over what the browser shows: tokens, tags,
 * marks, the chosen token.
 */
import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import {
  canHighlight,
  highlight,
  names as highlightNames,
  type Piece,
  rangesOf,
} from '../../data/highlights.ts';
import { tagsOf } from '../../logic/blocks.ts';
import { type Paint, runsOf } from '../../logic/paint.ts';
import type { Tokens } from '../../logic/tokens.ts';
import type { Prepared } from './TurnItem.tsx';

/** The list of turns. */
type Root = RefObject<HTMLElement | null>;

/** Colours tokens by `paint`, tags and marks, whenever what is shown or the way of painting changes. */
export function useColours(
  root: Root,
  prepared: readonly Prepared[],
  tokens: Tokens | null,
  paint: Paint,
  closed: ReadonlySet<number>,
): void {
  useLayoutEffect(() => {
    if (!canHighlight || root.current === null) return;
    const ranges = new Map<string, StaticRange[]>();
    const add = (name: string, pieces: readonly Piece[], start: number, end: number): void => {
      const list = ranges.get(name) ?? [];
      ranges.set(name, list);
      for (const range of rangesOf(pieces, start, end)) list.push(range);
    };
    const runs = tokens === null ? [] : runsOf(tokens, paint);
    for (const { turn, shown } of prepared) {
      const pieces = piecesOf(root.current, turn.index);
      for (const { start, end, kind } of tagsOf(shown.text)) add(kind, pieces, start, end);
      for (const { start, end } of shown.marks) add('mark', pieces, start, end);
      if (tokens === null || turn.kind === 'tool') continue;
      const base = tokens.starts[turn.start] ?? 0;
      const place = (at: number): number => shown.at(Math.max(0, tokens.starts[at]! - base));
      for (const { name, start, end } of runs) {
        if (end <= turn.start || start >= turn.end) continue;
        add(name, pieces, place(Math.max(start, turn.start)), place(Math.min(end, turn.end)));
      }
    }
    highlight(
      ranges,
      highlightNames.filter((name) => name !== 'chosen'),
    );
    return () => highlight(new Map(), highlightNames);
  }, [prepared, tokens, paint, closed]);
}

/** Marks the chosen token, and brings it into sight. */
export function useChosen(
  root: Root,
  prepared: readonly Prepared[],
  tokens: Tokens | null,
  token: number | null,
): void {
  useLayoutEffect(() => {
    if (root.current === null) return;
    const of =
      token === null || tokens === null
        ? undefined
        : prepared.find(({ turn }) => token >= turn.start && token < turn.end);
    if (of === undefined || tokens === null || token === null) {
      highlight(new Map(), ['chosen']);
      return;
    }
    const base = tokens.starts[of.turn.start]!;
    const ranges = rangesOf(
      piecesOf(root.current, of.turn.index),
      of.shown.at(tokens.starts[token]! - base),
      of.shown.at(tokens.starts[token + 1]! - base),
    );
    highlight(new Map([['chosen', ranges]]), ['chosen']);
    const [first] = ranges;
    if (first === undefined) return;
    const range = document.createRange();
    range.setStart(first.startContainer, first.startOffset);
    range.setEnd(first.startContainer, first.endOffset);
    const box = range.getBoundingClientRect();
    if (box.top < 120 || box.bottom > innerHeight - 40) scrollBy(0, box.top - innerHeight / 3);
  }, [prepared, tokens, token]);
}

function piecesOf(root: Element, turn: number): readonly Piece[] {
  return [...root.querySelectorAll<HTMLElement>(`[data-turn="${turn}"] [data-start]`)].flatMap(
    (element) =>
      element.firstChild instanceof Text
        ? [{ node: element.firstChild, start: Number(element.dataset.start) }]
        : [],
  );
}
