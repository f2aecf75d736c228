/** What happened, in words: where curves change their level, and the trajectories on either side. */
import { counted, thousands } from '../../../base/text/index.ts';
import type { HappenedData, HappenedEvent, LevelChange } from '../../wire/index.ts';
import { linkAt } from '../data/place.ts';
import { useRun, useView } from '../data/useView.ts';
import { value } from '../logic/format.ts';
import { About } from '../parts/About.tsx';
import { Missing } from '../parts/basics.tsx';

export function Happened({ run }: { readonly run: string }) {
  const answer = useView<HappenedData>({ page: 'happened', run, id: '' });
  const { data } = answer;
  useRun(run);
  if (data === null) return <Missing answer={answer} />;
  const { events, speedEvents, total, curves } = data;
  return (
    <>
      <div class="page-head">
        <h1>What happened</h1>
        <p class="muted">
          {counted(curves, 'curve')} searched for changes of level
          {total > events.length &&
            `; the ${events.length} largest of ${thousands(total)} are shown`}
          .
        </p>
      </div>
      {events.length === 0 && (
        <div class="card empty">
          <p>
            {curves === 0
              ? 'No curves yet: the first steps draw them.'
              : 'No learning curve changed by more than its noise.'}
          </p>
        </div>
      )}
      {events.map((event) => (
        <Event key={event.step} event={event} run={run} />
      ))}
      {speedEvents.length > 0 && (
        <details class="page-title">
          <summary>Changes of speed alone: {counted(speedEvents.length, 'step')}</summary>
          {speedEvents.map((event) => (
            <Event key={event.step} event={event} run={run} />
          ))}
        </details>
      )}
    </>
  );
}

function Event({ event, run }: { readonly event: HappenedEvent; readonly run: string }) {
  const { step, round, begins, changes, speed, sides } = event;
  return (
    <section class="card">
      <div class="card-head">
        <h2>Step {step}</h2>
        <span class={begins ? 'chip' : 'muted'}>{begins ? `${round} begins` : round}</span>
        <span class="grow" />
        <span class="facts">
          {sides.map(({ step: side, rollout }) =>
            rollout === null ? (
              <span class="muted" key={side}>
                step {side}: no rollouts
              </span>
            ) : (
              <a class="button" key={side} href={linkAt({ page: 'trajectory', run, id: rollout })}>
                {side < step ? 'before' : 'after'}: step {side}
              </a>
            ),
          )}
        </span>
      </div>
      <Changes changes={changes.length > 0 ? changes : speed} run={run} />
      {changes.length > 0 && speed.length > 0 && (
        <details>
          <summary>Speed: {counted(speed.length, 'curve')}</summary>
          <Changes changes={speed} run={run} />
        </details>
      )}
    </section>
  );
}

function Changes({
  changes,
  run,
}: {
  readonly changes: readonly LevelChange[];
  readonly run: string;
}) {
  return (
    <ul class="changes">
      {changes.map(({ name, before, after, size }) => (
        <li key={name}>
          <a href={linkAt({ page: 'metrics', run, id: '' }, { m: name })}>{name}</a>
          <About name={name} /> {after > before ? 'rose' : 'fell'} from{' '}
          <b class="num">{value(before)}</b> to <b class="num">{value(after)}</b>{' '}
          <span class="muted num">({size.toFixed(1)} × its noise)</span>
        </li>
      ))}
    </ul>
  );
}
