/**
 * What is known of a rollout besides its text: reward and its parts, how it ended, where it went, its least
 * expected tokens.
 */
import { thousands } from '../../../../base/text/index.ts';
import { signed } from '../../../../summary/format/index.ts';
import type { TrajectoryData } from '../../../wire/index.ts';
import { linkAt, linkTo, setQuery } from '../../data/place.ts';
import { recordLink } from '../../data/recordLink.ts';
import { copy } from '../../data/take.ts';
import { fixed, milliseconds } from '../../logic/format.ts';
import type { Tokens } from '../../logic/tokens.ts';
import { Hostile } from '../basics.tsx';
import { Parts } from './Parts.tsx';

export function Facts({
  data,
  run,
  tokens,
}: {
  readonly data: TrajectoryData;
  readonly run: string;
  readonly tokens: Tokens | null;
}) {
  const { rollout, facts, group, session } = data;
  // A token that was as good as sure is no surprise.
  const surprises = facts.surprises.filter(({ logProb }) => logProb < -0.01);
  return (
    <>
      <section class="card">
        <h2>Reward</h2>
        {rollout.reward === null ? (
          <p class="muted">Not rewarded.</p>
        ) : (
          <>
            <p class="big num">{fixed(3)(rollout.reward)}</p>
            <Parts of={rollout} group={group.rollouts} />
            {rollout.advantage !== null && (
              <p>
                advantage <b class="num">{signed(rollout.advantage, fixed(3))}</b>
              </p>
            )}
          </>
        )}
      </section>
      <section class="card">
        <h2>Facts</h2>
        <dl class="pair">
          <dt>ended by</dt>
          <dd>
            {rollout.finish}
            {rollout.reason !== '' && (
              <>
                : <Hostile text={rollout.reason} max={300} />
              </>
            )}
          </dd>
          <dt>tokens</dt>
          <dd class="num">{thousands(rollout.tokens)}</dd>
          <dt>tool calls</dt>
          <dd class="num">
            {rollout.toolCalls}
            {(rollout.toolErrors ?? 0) > 0 && `, ${rollout.toolErrors} failed`}
          </dd>
          <dt>took</dt>
          <dd class="num">
            {milliseconds(rollout.ms)}
            {session && `, ${milliseconds(session.modelMs)} of it in the model`}
          </dd>
          <dt>{rollout.versions.length > 1 ? 'versions' : 'version'}</dt>
          <dd>
            {rollout.versions.map((version, i) => (
              <>
                {i > 0 && ', '}
                <a href={linkAt({ page: 'weights', run, id: String(version) })}>v{version}</a>
              </>
            ))}
          </dd>
          <dt>seed</dt>
          <dd class="num">{facts.seed}</dd>
          <dt>selected</dt>
          <dd>
            {group.verdict === null ? (
              <span class="muted">not judged</span>
            ) : (
              <>
                {group.verdict.kept ? '✓ kept' : '○ not kept'}, {group.verdict.why}, front{' '}
                {group.verdict.front}
              </>
            )}
          </dd>
          <dt>trained in</dt>
          <dd>
            {group.batch === null ? (
              <span class="muted">no step</span>
            ) : (
              <a href={recordLink(run, 'batches', group.batch.ref)}>step {group.batch.step}</a>
            )}
          </dd>
          <dt>record</dt>
          <dd>
            <a href={linkTo(data.record)}>rollouts {rollout.ref}</a>
          </dd>
        </dl>
        <p class="note">
          <button type="button" onClick={() => void copy(data.command, 'command')}>
            Copy the command
          </button>
        </p>
      </section>
      {surprises.length > 0 && tokens !== null && (
        <section class="card">
          <h2>Least expected tokens</h2>
          <ol class="surprises">
            {surprises.map(({ token, text, logProb }) => (
              <li key={token}>
                <button
                  type="button"
                  class="quiet"
                  onClick={() => setQuery({ tok: String(token), turn: undefined })}
                >
                  <code>
                    <Hostile text={JSON.stringify(text)} max={24} />
                  </code>
                  <span class="num muted">
                    {(100 * Math.exp(logProb)).toFixed(1)} % · token {token}
                  </span>
                </button>
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}
