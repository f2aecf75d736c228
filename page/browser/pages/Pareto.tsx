/**
 * Pareto selection: every judged group by two objectives, which fronts they are on, which were kept and why
 * the others were not.
 */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { counted, thousands } from '../../../base/text/index.ts';
import { orDash } from '../../../summary/format/index.ts';
import type { ParetoData, ParetoPoint } from '../../wire/index.ts';
import { at, go, linkAt, query, setQuery } from '../data/place.ts';
import { grownOf, passed, useRun, useView } from '../data/useView.ts';
import { fixed } from '../logic/format.ts';
import { About } from '../parts/About.tsx';
import { Missing, Said, Scrolls, Th } from '../parts/basics.tsx';
import { Scatter } from '../parts/Scatter.tsx';

const asked = ['step', 'round', 'x', 'y', 'at'];
const rowsMax = 200;
/** Rows shown before `more`. */
const rowsFirst = 20;
/** Fronts are those of the objectives: over other axes their lines would mean nothing. */
const objectives = ['spreadCalls', 'spreadCorrect'];
/** Columns that the table has anyway. */
const columns = ['calls', 'correct', 'reward'];

export function Pareto({ run }: { readonly run: string }) {
  const now = query.value;
  // A round is judged as a whole, so that a new answer is due only when verdicts came.
  const grown = grownOf('selected');
  const answer = useView<ParetoData>({ page: 'pareto', run, id: '' }, passed(asked), grown);
  const { data } = answer;
  useRun(run);
  const [chosen, setChosen] = useState<readonly ParetoPoint[] | null>(null);
  const verdict = now.verdict;
  const points = useMemo(
    () =>
      (data?.points ?? []).filter((point) => verdict === undefined || point.verdict === verdict),
    [data, verdict],
  );
  useEffect(() => setChosen(null), [data]);
  if (data === null) return <Missing answer={answer} />;
  const front = now.front === undefined ? null : Number(now.front);
  const kept = data.points.filter((point) => point.kept).length;
  const about = (axis: string): string =>
    data.axes.find(({ name }) => name === axis)?.about ?? axis;
  const withFronts =
    data.x !== data.y && [data.x, data.y].every((axis) => objectives.includes(axis));
  const open = (point: ParetoPoint): void =>
    go(linkAt({ page: 'question', run, id: point.question }));
  const listed =
    chosen ??
    (front === null
      ? points.filter((point) => point.kept)
      : points.filter((point) => point.front === front));
  const fronts = [...new Set(data.points.map((point) => point.front))].sort((a, b) => a - b);
  return (
    <>
      <div class="page-head">
        <h1>Pareto selection</h1>
        {data.rounds.length > 1 && (
          <label>
            round
            <select
              value={String(data.round ?? '')}
              onChange={(event) =>
                setQuery({ round: event.currentTarget.value, step: undefined, front: undefined })
              }
            >
              {data.rounds.map(({ round, name }) => (
                <option key={round} value={String(round)}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <Axis name="x" value={data.x} axes={data.axes} />
        <Axis name="y" value={data.y} axes={data.axes} />
      </div>
      {data.points.length === 0 ? (
        <div class="card empty">
          <h2>No groups judged {at.value === '' ? 'yet' : 'then'}</h2>
          <p>
            <Said text={data.why} />
          </p>
        </div>
      ) : (
        <>
          <ul class="verdicts">
            {Object.entries(data.verdicts).map(([name, number]) => {
              const on = verdict === name;
              return (
                <li key={name}>
                  <button
                    type="button"
                    aria-pressed={on}
                    onClick={() => setQuery({ verdict: on ? undefined : name })}
                  >
                    <span aria-hidden="true">{name === 'selected' ? '●' : '○'}</span> {name}{' '}
                    <b class="num">{thousands(number)}</b>
                  </button>
                  <About kind="verdict" name={name} />
                </li>
              );
            })}
          </ul>
          <div class="card">
            <Scatter
              points={points}
              xLabel={about(data.x)}
              yLabel={about(data.y)}
              front={front}
              withFronts={withFronts}
              summary={`${counted(points.length, 'group')} by ${about(data.x)} and ${about(data.y)}, on ${counted(fronts.length, 'front')}; kept: ${kept}. The table below has their values.`}
              onOpen={open}
              onChoose={setChosen}
            />
            <p class="note">
              ● kept, ○ not kept; lines are fronts
              <About kind="selection" name="front" />. Groups with equal values are spread around
              their point.{' '}
              {!withFronts && (
                <button
                  type="button"
                  class="quiet"
                  onClick={() => setQuery({ x: objectives[0], y: objectives[1] })}
                >
                  Show the objectives and their fronts
                </button>
              )}
              {data.shown < data.total &&
                ` Shown: ${thousands(data.shown)} of ${thousands(data.total)} groups.`}
            </p>
          </div>
          <section class="card flush" aria-label="groups">
            <div class="card-head">
              <h2>
                {chosen === null ? (front === null ? 'Kept' : `Front ${front}`) : 'Chosen'}{' '}
                <span class="muted num">{thousands(listed.length)}</span>
              </h2>
              <span class="grow" />
              {chosen !== null && (
                <button type="button" onClick={() => setChosen(null)}>
                  Clear selection
                </button>
              )}
              <label>
                front
                <select
                  value={front === null ? '' : String(front)}
                  onChange={(event) => {
                    setChosen(null);
                    setQuery({ front: event.currentTarget.value });
                  }}
                >
                  <option value="">all</option>
                  {fronts.slice(0, 40).map((one) => (
                    <option key={one} value={String(one)}>
                      {one}
                    </option>
                  ))}
                </select>
              </label>
            </div>
            <Groups points={listed} data={data} run={run} />
          </section>
        </>
      )}
    </>
  );
}

function Axis({
  name,
  value: now,
  axes,
}: {
  readonly name: 'x' | 'y';
  readonly value: string;
  readonly axes: ParetoData['axes'];
}) {
  return (
    <label>
      {name}
      <select value={now} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>
        {axes.map((axis) => (
          <option key={axis.name} value={axis.name}>
            {axis.about}
          </option>
        ))}
      </select>
      <About kind="selection" name={short[now] ?? now} />
    </label>
  );
}

const short: Readonly<Record<string, string>> = {
  length: 'tokens',
  spreadCalls: 'spread of calls',
  spreadCorrect: 'spread of correctness',
};

function Groups({
  points,
  data,
  run,
}: {
  readonly points: readonly ParetoPoint[];
  readonly data: ParetoData;
  readonly run: string;
}) {
  const [all, setAll] = useState(false);
  const most = all ? rowsMax : rowsFirst;
  const others = (['x', 'y'] as const).filter(
    (axis) => !columns.includes(data[axis]) && (axis === 'x' || data.x !== data.y),
  );
  return (
    <Scrolls label="groups">
      <table>
        <thead>
          <tr>
            <Th left>question</Th>
            <Th left>verdict</Th>
            <Th>
              front
              <About kind="selection" name="front" />
            </Th>
            {others.map((axis) => (
              <Th key={axis}>{short[data[axis]] ?? data[axis]}</Th>
            ))}
            <Th>right</Th>
            <Th>calls</Th>
            <Th>reward</Th>
          </tr>
        </thead>
        <tbody>
          {points.slice(0, most).map((point) => (
            <tr key={point.ref}>
              <th scope="row">
                <a href={linkAt({ page: 'question', run, id: point.question })}>{point.question}</a>
              </th>
              <td class="l">
                <span aria-hidden="true">{point.kept ? '●' : '○'}</span> {point.verdict}
              </td>
              <td>{point.front}</td>
              {others.map((axis) => (
                <td key={axis}>{orDash(point[axis], fixed(2))}</td>
              ))}
              <td>{orDash(point.correct, fixed(2))}</td>
              <td>{orDash(point.calls, fixed(2))}</td>
              <td>{orDash(point.reward, fixed(2))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {points.length > most && (
        <p class="note padded">
          the first {most} of {thousands(points.length)}{' '}
          {!all && (
            <button type="button" onClick={() => setAll(true)}>
              Show {points.length > rowsMax ? rowsMax : 'all'}
            </button>
          )}
        </p>
      )}
    </Scrolls>
  );
}
