/** The calls of a session as a tree: forks are side by side. */
import { counted } from '../../../../base/text/index.ts';
import type { SessionView } from '../../../wire/index.ts';
import { linkAt } from '../../data/place.ts';
import { recordLink } from '../../data/recordLink.ts';
import { milliseconds } from '../../logic/format.ts';
import { sessionRows } from '../../logic/sessionRows.ts';

const row = 22;
const width = 260;
const nameMax = 22;

export function SessionTree({
  session,
  run,
  id,
}: {
  readonly session: SessionView;
  readonly run: string;
  readonly id: string;
}) {
  const rows = sessionRows(session);
  const places = new Map(rows.map(({ call }, i) => [call, i]));
  const x = (place: number): number => 12 + 16 * rows[place]!.lane;
  const y = (place: number): number => row * place + 13;
  const text = 12 + Math.max(0, ...rows.map((_, i) => x(i)));
  const height = row * rows.length + 4;
  return (
    <section class="card">
      <h2>{counted(session.of, 'model call')}</h2>
      <svg
        class="tree"
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="group"
      >
        {rows.map(({ parent, glyph, name, tone, title, ms, ref, turn }, i) => {
          const from = places.get(parent);
          const href =
            ref === null
              ? linkAt({ page: 'trajectory', run, id }, turn === null ? {} : { turn: `${turn}` })
              : recordLink(run, 'mcp-calls', ref);
          return (
            <a key={title + href} class="tree-line" href={href}>
              <title>{title}</title>
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
              <text x={x(i)} y={y(i) + 4} text-anchor="middle" class={`tree-glyph ${tone}`}>
                {glyph}
              </text>
              <text x={text} y={y(i) + 4}>
                {name.length > nameMax ? `${name.slice(0, nameMax)}…` : name}
              </text>
              <text x={width - 4} y={y(i) + 4} text-anchor="end" class="tree-reward">
                {milliseconds(ms)}
              </text>
            </a>
          );
        })}
      </svg>
      {session.of > session.calls.length && <p class="note">the first {session.calls.length}</p>}
    </section>
  );
}
