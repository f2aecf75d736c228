/** Rollouts as rows, each a link to its trajectory. */
import { fixed, NOTHING, orDash, signed } from '../../views/numbers.ts';
import type { RolloutRow } from '../../views/page/wire.ts';
import { linkAt } from '../data/place.ts';
import { count } from '../logic/format.ts';
import { glyphOf } from './BranchTree.tsx';
import { Scrolls } from './basics.tsx';

export function RolloutTable({
  rollouts,
  run,
  selected,
  withQuestion = false,
}: {
  readonly rollouts: readonly RolloutRow[];
  readonly run: string;
  readonly selected?: string | null;
  readonly withQuestion?: boolean;
}) {
  const parts = [...new Set(rollouts.flatMap((rollout) => Object.keys(rollout.parts)))].slice(0, 6);
  return (
    <Scrolls label="rollouts">
      <table>
        <thead>
          <tr>
            <th class="l" scope="col">
              rollout
            </th>
            {withQuestion && (
              <th class="l" scope="col">
                question
              </th>
            )}
            <th class="l" scope="col">
              ended
            </th>
            <th scope="col">reward</th>
            {parts.map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
            <th scope="col">advantage</th>
            <th scope="col">calls</th>
            <th scope="col">tokens</th>
            <th scope="col">version</th>
          </tr>
        </thead>
        <tbody>
          {rollouts.map((rollout) => {
            const [glyph, tone, word] = glyphOf(rollout);
            return (
              <tr
                key={rollout.ref}
                class={rollout.ref === selected ? 'here' : undefined}
                data-ref={rollout.ref}
              >
                <th scope="row">
                  <a href={linkAt({ page: 'trajectory', run, id: rollout.ref })}>
                    {withQuestion ? rollout.ref : rollout.index + 1}
                  </a>
                </th>
                {withQuestion && (
                  <td class="l">
                    <a href={linkAt({ page: 'question', run, id: rollout.question })}>
                      {rollout.question}
                    </a>
                  </td>
                )}
                <td class="l">
                  <span class={tone}>
                    <span aria-hidden="true">{glyph}</span> {word}
                  </span>
                  {rollout.finish !== 'answer' && rollout.finish !== rollout.status && (
                    <span class="muted">, {rollout.finish}</span>
                  )}
                </td>
                <td>
                  <b>{orDash(rollout.reward, fixed(3))}</b>
                </td>
                {parts.map((name) => (
                  <td key={name}>{orDash(rollout.parts[name], fixed(2))}</td>
                ))}
                <td>
                  {rollout.advantage === null ? NOTHING : signed(rollout.advantage, fixed(2))}
                </td>
                <td>
                  {rollout.toolCalls}
                  {(rollout.toolErrors ?? 0) > 0 && (
                    <span class="bad"> ({rollout.toolErrors} failed)</span>
                  )}
                </td>
                <td>{count(rollout.tokens)}</td>
                <td>{rollout.versions.join(', ')}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scrolls>
  );
}
