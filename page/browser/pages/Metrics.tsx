/**
 * Curves of a run and of others next to it: chosen by name, zoomed by dragging, smoothed on request. The
 * address has all of it.
 */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { thousands } from '../../../base/text/index.ts';
import { limits, type MetricName, type MetricsData, type Series } from '../../wire/index.ts';
import { useLiveSeries } from '../data/liveSeries.ts';
import { at, query, setQuery } from '../data/place.ts';
import { listen } from '../data/stream.ts';
import { passed, useView } from '../data/useView.ts';
import { value } from '../logic/format.ts';
import { lineOf } from '../logic/lineOf.ts';
import { coloursOf, linesMax } from '../logic/lines.ts';
import type { Query } from '../logic/route.ts';
import { bucketNote, type XUnit } from '../logic/series.ts';
import { smoothMin } from '../logic/smooth.ts';
import { Missing, Said } from '../parts/basics.tsx';
import { Chart } from '../parts/Chart.tsx';

const none: readonly Series[] = [];
const asked = ['m', 'x', 'from', 'to', 'with', 'at'];

export function Metrics({ run }: { readonly run: string }) {
  const now = query.value;
  const pinned = at.value !== '';
  const wanted = { ...passed(asked), n: '1600' };
  const answer = useView<MetricsData>({ page: 'metrics', run, id: '' }, wanted);
  const { data } = answer;
  const unit: XUnit = now.x === 'time' || now.x === 'tokens' ? now.x : 'step';
  const range = rangeOf(now);
  const series = useLiveSeries(data?.series ?? none, unit, !pinned && range === null);
  const smoothing = Math.min(0.99, Math.max(0, Number(now.smooth ?? '0') || 0));
  const shown = useMemo(() => [...new Set(series.map(({ name }) => name))], [series]);
  useEffect(() => {
    if (data !== null) listen({ run, metrics: pinned ? [] : shown, since: data.cursor });
  }, [data, shown.join(), pinned, run]);
  const names = now.m === undefined ? shown : now.m.split(',').filter((name) => name !== '');
  if (data === null) return <Missing answer={answer} />;
  const many = new Set(series.map((one) => one.run)).size > 1;
  return (
    <div class="side-by-side">
      <Names data={data} chosen={names} />
      <div>
        <div class="bar">
          <h1 class="unseen">Metrics</h1>
          <label>
            x axis
            <select
              value={unit}
              onChange={(event) =>
                setQuery({
                  x: event.currentTarget.value === 'step' ? undefined : event.currentTarget.value,
                  from: undefined,
                  to: undefined,
                })
              }
            >
              <option value="step">steps</option>
              <option value="time">time</option>
              <option value="tokens">tokens trained</option>
            </select>
          </label>
          <label>
            smoothing
            <input
              type="range"
              min="0"
              max="0.95"
              step="0.05"
              value={String(smoothing)}
              onInput={(event) =>
                setQuery({
                  smooth: event.currentTarget.value === '0' ? undefined : event.currentTarget.value,
                })
              }
            />
            <span class="num fixed">{smoothing === 0 ? 'off' : smoothing.toFixed(2)}</span>
          </label>
          <WithRuns run={run} missing={data.missing} />
          <span class="grow" />
          {range !== null && (
            <button type="button" onClick={() => setQuery({ from: undefined, to: undefined })}>
              Zoom out
            </button>
          )}
        </div>
        {names.length === 0 && (
          <div class="card empty">
            <p>
              {data.names.length === 0
                ? 'No metrics yet: the first step writes them.'
                : 'Choose metrics from the list.'}
            </p>
          </div>
        )}
        <div class={names.length > 1 ? 'grid charts' : 'grid'}>
          {names.map((name) => {
            const of = series.filter((one) => one.name === name).slice(0, linesMax);
            const absent = data.absent.find((one) => one.name === name);
            if (of.length === 0) {
              return (
                <section class="card" key={name}>
                  <h2>{name}</h2>
                  <p class="muted">
                    <Said text={`${absent?.why ?? 'This run has no such metric'}.`} />
                  </p>
                </section>
              );
            }
            const few = smoothing > 0 && of.every(({ x }) => x.length < smoothMin);
            const parts = of.map(
              (one) => `${thousands(one.shown)} of ${thousands(one.total)} values`,
            );
            const note = [
              bucketNote(of),
              of.some(({ shown, total }) => shown < total) && parts.join(', '),
              few && `fewer than ${smoothMin} points are not smoothed`,
            ].filter(Boolean);
            return (
              <Chart
                key={name}
                title={name}
                lines={of.map((one) => lineOf(one, many ? one.run : one.name))}
                colours={coloursOf(of.map((one) => one.run))}
                smoothing={few ? 0 : smoothing}
                broken={of.flatMap(({ oddSteps }) => (unit === 'step' ? oddSteps : []))}
                note={note.join(' · ') || undefined}
                unit={unit === 'step' ? 'steps' : unit}
                range={range}
                onZoom={(to) =>
                  setQuery(
                    to === null
                      ? { from: undefined, to: undefined }
                      : { from: edge(to[0], unit, Math.floor), to: edge(to[1], unit, Math.ceil) },
                    false,
                  )
                }
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

function edge(x: number, unit: XUnit, whole: (x: number) => number): string {
  return String(unit === 'step' ? Math.max(0, whole(x)) : Math.round(x));
}

function rangeOf(now: Query): readonly [number, number] | null {
  const [from, to] = [Number(now.from ?? Number.NaN), Number(now.to ?? Number.NaN)];
  return Number.isFinite(from) && Number.isFinite(to) && from < to ? [from, to] : null;
}

function Names({
  data,
  chosen,
}: {
  readonly data: MetricsData;
  readonly chosen: readonly string[];
}) {
  const [filter, setFilter] = useState('');
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const shown = data.names.filter(({ name }) =>
    words.every((word) => name.toLowerCase().includes(word)),
  );
  const groups = new Map<string, MetricName[]>();
  for (const one of shown) {
    const group = one.name.includes('/') ? one.name.split('/')[0]! : '';
    groups.set(group, [...(groups.get(group) ?? []), one]);
  }
  const toggle = (name: string): void => {
    const next = chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name];
    setQuery({ m: next.slice(-limits.metricsMax).join(',') || undefined });
  };
  return (
    <aside class="card names" aria-label="Names of metrics">
      <input
        type="search"
        placeholder="filter names  /"
        aria-label="filter names"
        value={filter}
        onInput={(event) => setFilter(event.currentTarget.value)}
        onKeyDown={(event) => {
          // Enter shows what the filter leaves.
          if (event.key === 'Enter' && shown.length > 0) {
            setQuery({
              m: shown
                .slice(0, 12)
                .map(({ name }) => name)
                .join(','),
            });
          }
        }}
      />
      <div class="names-list">
        {[...groups].sort(byName).map(([group, names]) => (
          <fieldset key={group}>
            <legend>{group === '' ? 'others' : group}</legend>
            {names.map(({ name, last }) => (
              <label key={name} class="name">
                <input
                  type="checkbox"
                  checked={chosen.includes(name)}
                  onChange={() => toggle(name)}
                />
                <span>{group === '' ? name : name.slice(group.length + 1)}</span>
                <b class="num">{value(last)}</b>
              </label>
            ))}
          </fieldset>
        ))}
        {shown.length === 0 && data.names.length > 0 && <p class="muted">No metric matches.</p>}
      </div>
    </aside>
  );
}

/** Those without a group last. */
function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  if (a === '' || b === '') return a === b ? 0 : a === '' ? 1 : -1;
  return a < b ? -1 : 1;
}

function WithRuns({ run, missing }: { readonly run: string; readonly missing: readonly string[] }) {
  const others = (query.value.with ?? '').split(',').filter((name) => name !== '');
  const set = (names: readonly string[]): void =>
    setQuery({ with: [...new Set(names)].slice(0, limits.withMax).join(',') || undefined });
  return (
    <form
      class="with"
      onSubmit={(event) => {
        event.preventDefault();
        const input = event.currentTarget.elements.namedItem('other') as HTMLInputElement;
        const name = input.value.trim();
        if (name !== '' && name !== run) set([...others, name]);
        input.value = '';
      }}
    >
      {others.map((name) => (
        <button
          type="button"
          key={name}
          class={missing.includes(name) ? 'bad' : ''}
          aria-label={`remove ${name}`}
          onClick={() => set(others.filter((one) => one !== name))}
        >
          {missing.includes(name) ? `${name}: no such run` : name} ×
        </button>
      ))}
      <input
        type="text"
        name="other"
        size={14}
        placeholder="+ compare a run"
        aria-label="run to compare with"
        autocomplete="off"
        spellcheck={false}
      />
    </form>
  );
}
