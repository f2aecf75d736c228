/**
 * The run as a film: a scrubber over its steps, each a moment that every view can be seen at; what was
 * verified; commands.
 */

import { useEffect, useState } from 'preact/hooks';
import { thousands } from '../../../base/text/index.ts';
import { type ReplayData, type ReplayStep, runViews } from '../../wire/index.ts';
import { useKeys } from '../data/keyboard.ts';
import { linkTo, query, setQuery } from '../data/place.ts';
import { ends } from '../data/stream.ts';
import { useRun, useView } from '../data/useView.ts';
import { value } from '../logic/format.ts';
import { colourOf } from '../logic/lines.ts';
import { hrefOf, stepOf } from '../logic/route.ts';
import { Ago, Command, Missing } from '../parts/basics.tsx';
import { Chart } from '../parts/Chart.tsx';
import { Recompute } from '../parts/Control.tsx';

const speeds = [1, 10, 100] as const;

export function Replay({ run }: { readonly run: string }) {
  const answer = useView<ReplayData>({ page: 'replay', run, id: '' }, {}, ends.value.weights);
  const { data } = answer;
  useRun(run);
  const steps = data?.steps ?? [];
  const now = stepOf(query.value);
  // The last step that is not after the moment.
  const place =
    now === null
      ? steps.length - 1
      : Math.max(
          0,
          steps.findLastIndex(({ step }) => step <= now),
        );
  const to = (index: number): void => {
    const step = steps[Math.max(0, Math.min(steps.length - 1, index))];
    if (step !== undefined) setQuery({ at: `step:${step.step}` });
  };
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<number>(1);
  useEffect(() => {
    if (!playing) return;
    const next = steps[place + 1];
    if (next === undefined) {
      setPlaying(false);
      return;
    }
    // As long as it took, that many times faster; never so slow or so fast that nothing can be seen.
    const ms = Math.min(2000, Math.max(60, (next.atMs - steps[place]!.atMs) / speed));
    const timer = setTimeout(() => to(place + 1), ms);
    return () => clearTimeout(timer);
  }, [playing, place, speed, steps]);
  useKeys({
    next: () => to(place + 1),
    previous: () => to(place - 1),
    first: () => to(0),
    last: () => to(steps.length - 1),
  });
  if (data === null) return <Missing answer={answer} />;
  const here = steps[place];
  return (
    <>
      <div class="page-head">
        <h1>Replay</h1>
        <p class="muted">Choose a step to see every view as it was then.</p>
      </div>
      {here === undefined ? (
        <div class="card">
          <div class="empty">
            <p>There are no steps yet.</p>
          </div>
        </div>
      ) : (
        <section class="card scrub" aria-label="scrubber">
          <div class="bar">
            <span class="button-row" role="group" aria-label="play">
              <button type="button" aria-label="first step" onClick={() => to(0)}>
                <Icon name="first" />
              </button>
              <button type="button" aria-label="one step back" onClick={() => to(place - 1)}>
                <Icon name="back" />
              </button>
              <button
                type="button"
                aria-label={playing ? 'pause' : 'play'}
                onClick={() => {
                  if (!playing && place === steps.length - 1) to(0);
                  setPlaying(!playing);
                }}
              >
                <Icon name={playing ? 'pause' : 'play'} />
              </button>
              <button type="button" aria-label="one step forward" onClick={() => to(place + 1)}>
                <Icon name="forward" />
              </button>
              <button type="button" aria-label="last step" onClick={() => to(steps.length - 1)}>
                <Icon name="last" />
              </button>
            </span>
            <span class="segmented" role="group" aria-label="speed">
              {speeds.map((one) => (
                <button
                  key={one}
                  type="button"
                  aria-pressed={speed === one}
                  onClick={() => setSpeed(one)}
                >
                  {one}×
                </button>
              ))}
            </span>
            <span class="grow" />
            <span>
              step <b class="num">{here.step}</b> of {steps.at(-1)!.step} · version {here.version} ·{' '}
              <Ago at={here.atMs} />
            </span>
          </div>
          <input
            type="range"
            class="scrubber"
            min="0"
            max={String(steps.length - 1)}
            value={String(place)}
            aria-label="step"
            aria-valuetext={`step ${here.step}`}
            onInput={(event) => {
              setPlaying(false);
              to(Number(event.currentTarget.value));
            }}
          />
          <Moment run={run} step={here} steps={steps} />
          {data.total > steps.length && (
            <p class="note">
              {thousands(steps.length)} of {thousands(data.total)} steps are on the slider.
            </p>
          )}
        </section>
      )}
      <section class="card">
        <h2>Verification</h2>
        {data.verified === null ? (
          <p class="muted">
            This run has not been recomputed yet. The first command does so and compares every
            record.
          </p>
        ) : (
          <p class={data.verified.ok ? 'good' : 'bad'}>
            {data.verified.ok ? '✓' : '✗'} {data.verified.text}{' '}
            <span class="muted">
              <Ago at={data.verified.atMs} />
            </span>
          </p>
        )}
        <Recompute run={run} />
        <dl class="commands">
          {data.commands.map(({ about, command: text }) => (
            <>
              <dt>{about}</dt>
              <dd>
                <Command text={text} />
              </dd>
            </>
          ))}
        </dl>
      </section>
    </>
  );
}

const views = ['overview', 'metrics', 'topics', 'pareto', 'weights'] as const;

/** What was known at that step: reward up to it, and the views as they were. */
function Moment({
  run,
  step,
  steps,
}: {
  readonly run: string;
  readonly step: ReplayStep;
  readonly steps: readonly ReplayStep[];
}) {
  const rewarded = steps.filter(({ reward }) => reward !== null);
  const series = {
    label: 'reward',
    xs: rewarded.map((one) => one.step),
    ys: rewarded.map((one) => (one.step <= step.step ? one.reward : null)),
  };
  const moment = { at: `step:${step.step}` };
  return (
    <>
      {rewarded.length > 1 && (
        <Chart
          title="reward/mean up to here"
          metric="reward/mean"
          lines={[series]}
          colours={[colourOf(run)]}
          small
          range={[rewarded[0]!.step, rewarded.at(-1)!.step]}
        />
      )}
      <p class="bar">
        <span class="muted">
          {step.reward !== null && `Reward ${value(step.reward)}. `}See step {step.step} in
        </span>
        {views.map((page) => {
          const id = page === 'weights' ? String(step.version) : '';
          return (
            <a key={page} class="button" href={linkTo(hrefOf({ page, run, id }, moment))}>
              {runViews[page].tab}
            </a>
          );
        })}
      </p>
    </>
  );
}

const icons = {
  first: 'M3 2v12M13 2L5 8l8 6z',
  back: 'M12 2L4 8l8 6z',
  play: 'M4 2l9 6-9 6z',
  pause: 'M5 2v12M11 2v12',
  forward: 'M4 2l8 6-8 6z',
  last: 'M13 2v12M3 2l8 6-8 6z',
} as const;

function Icon({ name }: { readonly name: keyof typeof icons }) {
  const filled = name === 'play';
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={icons[name]}
        fill={filled ? 'currentColor' : 'none'}
        stroke="currentColor"
        stroke-width="1.6"
        stroke-linejoin="round"
      />
    </svg>
  );
}
