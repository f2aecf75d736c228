/** What happened, in words: where curves change their level, and the trajectories on either side. */
import type { HappenedData, HappenedEvent } from '../../wire/index.ts';
import { linkAt } from '../data/place.ts';
import { useCommand, useView } from '../data/useView.ts';
import { count, value } from '../logic/format.ts';
import { About } from '../parts/About.tsx';
import { Missing } from '../parts/basics.tsx';

export function Happened({ run }: { readonly run: string }) {
  const answer = useView<HappenedData>({ page: 'happened', run, id: '' });
  const { data } = answer;
  useCommand(run, `npx millrace tap ${run}.metrics`);
  if (data === null) return <Missing answer={answer} />;
  const { events, total, curves } = data;
  return (
    <>
      <div class="page-head">
        <h1>What happened</h1>
        <p class="muted">
          {count(curves)} curves were searched for changes of level;{' '}
          {total > events.length
            ? `the ${events.length} largest of ${count(total)} are shown.`
            : `all that were found are shown.`}
        </p>
      </div>
      {events.length === 0 && (
        <div class="card empty">
          <p>No curve changed its level by more than its noise.</p>
        </div>
      )}
      {events.map((event) => (
        <Event key={event.step} event={event} run={run} />
      ))}
    </>
  );
}

function Event({ event, run }: { readonly event: HappenedEvent; readonly run: string }) {
  const { step, round, begins, changes, sides } = event;
  return (
    <section class="card">
      <div class="card-head">
        <h2>Step {step}</h2>
        <span class={begins ? 'chip' : 'muted'}>{begins ? `${round} begins` : round}</span>
        <span class="grow" />
        {sides.map(({ step: side, rollout }) =>
          rollout === null ? (
            <span class="muted" key={side}>
              step {side}: no rollouts
            </span>
          ) : (
            <a class="button" key={side} href={linkAt({ page: 'trajectory', run, id: rollout })}>
              {side < step ? 'before' : 'after'}: a trajectory of step {side}
            </a>
          ),
        )}
      </div>
      <ul>
        {changes.map(({ name, before, after, size }) => (
          <li key={name}>
            <a href={linkAt({ page: 'metrics', run, id: '' }, { m: name })}>{name}</a>
            <About name={name} /> {after > before ? 'rose' : 'fell'} from{' '}
            <b class="num">{value(before)}</b> to <b class="num">{value(after)}</b>{' '}
            <span class="muted num">({size.toFixed(1)} × its noise)</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
