/** The text of a trajectory: its turns, coloured, and the token that was chosen in it. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { TrajectoryData } from '../../../wire/index.ts';
import { caretAt } from '../../data/caret.ts';
import { setQuery } from '../../data/place.ts';
import { blocksOf } from '../../logic/blocks.ts';
import type { Paint } from '../../logic/paint.ts';
import { shownText } from '../../logic/shownText.ts';
import { type Tokens, tokenAt } from '../../logic/tokens.ts';
import { textOf } from '../basics.tsx';
import { useChosen, useColours } from './colours.ts';
import { TokenLine } from './TokenLine.tsx';
import { type Prepared, TurnItem } from './TurnItem.tsx';

export function Turns({
  data,
  tokens,
  paint,
  turn,
  token,
  run,
  closed,
  onFull,
}: {
  readonly data: TrajectoryData;
  readonly tokens: Tokens | null;
  readonly paint: Paint;
  readonly turn: number | null;
  readonly token: number | null;
  readonly run: string;
  readonly closed: ReadonlySet<number>;
  readonly onFull: () => void;
}) {
  const root = useRef<HTMLOListElement>(null);
  const prepared = useMemo(
    () =>
      data.turns.map((one): Prepared => {
        const { text, part } = textOf(one.text);
        const shown = shownText(text);
        // Of a text that is not divided, all.
        const tools = data.session?.tools.filter(
          ({ turn: after }) => data.tokens === null || (after ?? 0) === one.index,
        );
        return { turn: one, shown, blocks: blocksOf(shown.text), part, tools: tools ?? [] };
      }),
    [data.turns],
  );
  useColours(root, prepared, tokens, paint, closed);
  useChosen(root, prepared, tokens, token);

  // A link to a turn lands there, and j and k move there.
  useLayoutEffect(() => {
    if (turn === null || token !== null) return;
    root.current?.querySelector(`[data-turn="${turn}"]`)?.scrollIntoView({ block: 'start' });
  }, [turn, prepared]);

  const choose = (event: MouseEvent): void => {
    if (tokens === null || !(getSelection()?.isCollapsed ?? true)) return;
    const place = caretAt(event.clientX, event.clientY);
    const element = place?.node.parentElement?.closest<HTMLElement>('[data-start]');
    const of = prepared.find(
      ({ turn: one }) =>
        String(one.index) === element?.closest<HTMLElement>('[data-turn]')?.dataset.turn,
    );
    if (place === null || element == null || of === undefined || of.turn.kind === 'tool') return;
    const offset = of.shown.from(Number(element.dataset.start) + place.offset);
    const chosen = tokenAt(tokens.starts, tokens.starts[of.turn.start]! + offset);
    setQuery({ tok: String(Math.min(chosen, of.turn.end - 1)), turn: undefined });
  };
  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the strip above moves the token by keys. */}
      <ol class="turns" ref={root} onClick={choose}>
        {prepared.map((one) => (
          <TurnItem
            key={one.turn.index}
            prepared={one}
            here={turn === one.turn.index}
            run={run}
            id={data.rollout.ref}
            closed={closed.has(one.turn.index)}
            onFull={onFull}
          />
        ))}
      </ol>
      {prepared.length === 0 && <p class="card empty">It is empty.</p>}
      <TokenLine tokens={tokens} token={token} />
    </>
  );
}
