/** The model calls of a session as a tree, in the order in which they were made: forks are side by side. */
import { counted } from '../../../../base/text/index.ts';
import type { SessionView } from '../../../wire/index.ts';
import { linkAt } from '../../data/place.ts';
import { milliseconds } from '../../logic/format.ts';

const row = 22;
const width = 260;
const tones = { first: 'muted', continued: 'good', merged: 'warn', separate: 'bad' };

export function SessionTree({
  session: { calls, of },
  run,
  id,
}: {
  readonly session: SessionView;
  readonly run: string;
  readonly id: string;
}) {
  const places = new Map(calls.map(({ call }, i) => [call, i]));
  const x = (place: number): number => 12 + 16 * calls[place]!.lane;
  const y = (place: number): number => row * place + 13;
  const text = 12 + Math.max(0, ...calls.map((_, i) => x(i)));
  const height = row * calls.length + 4;
  return (
    <section class="card">
      <h2>{counted(of, 'model call')}</h2>
      <svg
        class="tree"
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="group"
      >
        {calls.map(({ call, parent, join, difference, tokens, ms, turn }, i) => {
          const from = places.get(parent);
          return (
            <a
              key={call}
              class="tree-line"
              href={linkAt(
                { page: 'trajectory', run, id },
                turn === null ? {} : { turn: String(turn) },
              )}
            >
              <title>{`call ${call + 1}, ${join}: ${counted(tokens, 'token')}${difference && `; ${difference}`}`}</title>
              <rect
                x="0"
                y={row * i + 2}
                width={width}
                height={row - 1}
                rx="4"
                class="tree-ground"
              />
              {from !== undefined && (
                <path d={`M${x(from)} ${y(from) + 4}V${y(i)}H${x(i)}`} class="tree-stem" />
              )}
              <text x={x(i)} y={y(i) + 4} text-anchor="middle" class={`tree-glyph ${tones[join]}`}>
                ●
              </text>
              <text x={text} y={y(i) + 4}>
                {join}
              </text>
              <text x={width - 4} y={y(i) + 4} text-anchor="end" class="tree-reward">
                {milliseconds(ms)}
              </text>
            </a>
          );
        })}
      </svg>
      {of > calls.length && <p class="note">the first {calls.length}</p>}
    </section>
  );
}
