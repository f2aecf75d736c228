/** A group's rollouts as a tree: each a line, a branch begins where it left its parent. */
import { counted } from '../../../base/text/index.ts';
import type { RolloutRow } from '../../wire/index.ts';
import { linkAt } from '../data/place.ts';
import { treeLines, treeLinesMax } from '../logic/branchTree.ts';
import { fixed } from '../logic/format.ts';

const row = 22;

export function glyphOf({
  status,
  finish,
  correct,
  toolErrors,
}: RolloutRow): readonly [string, string, string] {
  if (status !== 'done') return ['✗', 'bad', status];
  if (finish === 'length' || finish === 'callLimit') return ['○', 'warn', 'cut off'];
  if (correct === false) return ['✗', 'bad', 'wrong'];
  if ((toolErrors ?? 0) > 0) return ['!', 'warn', 'a tool failed'];
  if (correct === true) return ['✓', 'good', 'right'];
  return ['●', 'muted', 'done'];
}

export function BranchTree({
  rollouts,
  run,
  here,
  width = 260,
}: {
  readonly rollouts: readonly RolloutRow[];
  readonly run: string;
  readonly here?: string;
  readonly width?: number;
}) {
  const shown = rollouts.slice(0, treeLinesMax);
  const lines = treeLines(
    shown.map(({ index, parent, tokens }) => ({ index, parent, length: tokens })),
  );
  const byIndex = new Map(shown.map((rollout) => [rollout.index, rollout]));
  const [left, right] = [22, 66];
  const x = (share: number): number => left + share * (width - left - right);
  const y = (place: number): number => row * place + row / 2 + 2;
  return (
    <>
      <svg
        class="tree"
        viewBox={`0 0 ${width} ${row * lines.length + 4}`}
        width={width}
        height={row * lines.length + 4}
        role="group"
        aria-label="branches"
      >
        {lines.map(({ index, row: place, start, end, from }) => {
          const rollout = byIndex.get(index)!;
          const [glyph, tone, word] = glyphOf(rollout);
          const reward = rollout.reward === null ? '' : fixed(3)(rollout.reward);
          return (
            <a
              key={rollout.ref}
              href={linkAt({ page: 'trajectory', run, id: rollout.ref })}
              class={rollout.ref === here ? 'tree-line here' : 'tree-line'}
              aria-current={rollout.ref === here ? 'true' : undefined}
            >
              <title>{`rollout ${index + 1}: ${word}${reward === '' ? '' : `, reward ${reward}`}, ${counted(rollout.tokens, 'token')}${rollout.parent === null ? '' : `, branched off rollout ${rollout.parent.index + 1} at token ${rollout.parent.offset}`}`}</title>
              <rect
                x="0"
                y={row * place + 2}
                width={width}
                height={row - 1}
                rx="4"
                class="tree-ground"
              />
              <text x="16" y={y(place) + 4} text-anchor="end" class="tree-index">
                {index + 1}
              </text>
              {from !== null && (
                <path d={`M${x(start)} ${y(from)}V${y(place)}`} class="tree-stem" />
              )}
              <path
                d={`M${x(start)} ${y(place)}H${Math.max(x(end), x(start) + 2)}`}
                class="tree-path"
              />
              <text
                x={Math.max(x(end), x(start) + 2) + 4}
                y={y(place) + 4}
                class={`tree-glyph ${tone}`}
              >
                {glyph}
              </text>
              <text x={width - 4} y={y(place) + 4} text-anchor="end" class="tree-reward">
                {reward}
              </text>
            </a>
          );
        })}
      </svg>
      {rollouts.length > treeLinesMax && (
        <p class="note">
          {treeLinesMax} of {rollouts.length} rollouts
        </p>
      )}
    </>
  );
}
