/** Rollouts as rows, each a link to its trajectory. */
import { thousands } from '../../../base/text/index.ts';
import { orDash, signed } from '../../../summary/format/index.ts';
import type { RolloutRow } from '../../wire/index.ts';
import { linkAt } from '../data/place.ts';
import { fixed } from '../logic/format.ts';
import { About } from './About.tsx';
import { glyphOf } from './BranchTree.tsx';
import { Scrolls, Th } from './basics.tsx';

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
  if (rollouts.length === 0) return null;
  // For rollouts without scores two columns would be empty.
  const scored = rollouts.some(({ reward }) => reward !== null);
  return (
    <Scrolls label="rollouts">
      <table>
        <thead>
          <tr>
            <Th left>rollout</Th>
            {withQuestion && <Th left>question</Th>}
            <Th left>ended</Th>
            {scored && <Th>reward</Th>}
            {parts.map((name) => (
              <Th key={name}>
                {name}
                <About kind="part" name={name} />
              </Th>
            ))}
            {scored && <Th>advantage</Th>}
            <Th>calls</Th>
            <Th>tokens</Th>
            <Th>version</Th>
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
                {scored && (
                  <td>
                    <b>{orDash(rollout.reward, fixed(3))}</b>
                  </td>
                )}
                {parts.map((name) => (
                  <td key={name}>{orDash(rollout.parts[name], fixed(2))}</td>
                ))}
                {scored && (
                  <td>{orDash(rollout.advantage, (advantage) => signed(advantage, fixed(2)))}</td>
                )}
                <td>
                  {rollout.toolCalls}
                  {(rollout.toolErrors ?? 0) > 0 && (
                    <span class="bad"> ({rollout.toolErrors} failed)</span>
                  )}
                </td>
                <td>{thousands(rollout.tokens)}</td>
                <td>{rollout.versions.join(', ')}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scrolls>
  );
}
