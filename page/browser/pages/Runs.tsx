/**
 * All runs of the folder, newest first: searched, sorted, two of them compared; `?diff=RUN` is one that is
 * already chosen.
 */
import { Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { counted, thousands } from '../../../base/text/index.ts';
import { orDash, percent } from '../../../summary/format/index.ts';
import type { RunRow, RunsData } from '../../wire/index.ts';
import { linkTo, query, setQuery } from '../data/place.ts';
import { listen, refreshes, runRows } from '../data/stream.ts';
import { command } from '../data/take.ts';
import { useData } from '../data/useData.ts';
import { value } from '../logic/format.ts';
import { colourOf } from '../logic/lines.ts';
import { hrefOf } from '../logic/route.ts';
import type { Columns } from '../logic/sorted.ts';
import { Ago, Command, Missing, RunName, Said, Scrolls, State, Th } from '../parts/basics.tsx';
import { Spark } from '../parts/Spark.tsx';
import { SortTh, sorted, useRows } from '../parts/sorting.tsx';

const columns: Columns<RunRow> = {
  run: (row) => row.name,
  state: (row) => row.state,
  job: (row) => row.job,
  step: (row) => row.step,
  accuracy: (row) => row.accuracy,
  started: (row) => row.startedMs,
};

export function Runs() {
  const answer = useData<RunsData>('/runs.json', refreshes.value);
  const { data } = answer;
  const other = query.value.diff;
  // Two of them are compared: a third takes the place of the second.
  const [chosen, setChosen] = useState<readonly string[]>([]);
  useEffect(() => setChosen(other === undefined ? [] : [other]), [other]);
  useEffect(() => listen({ runs: true }), []);
  useEffect(() => {
    command.value = data?.command ?? '';
  }, [data]);
  const all = newest(data?.runs ?? [], runRows.value);
  const text = (query.value.find ?? '').toLowerCase();
  const rows = sorted(
    all.filter(({ name, job, state }) => `${name} ${job} ${state}`.toLowerCase().includes(text)),
    columns,
  );
  const [shown, more] = useRows(rows);
  if (data === null) return <Missing answer={answer} />;
  const [a, b] = chosen;
  const choose = (name: string): void =>
    setChosen(
      chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen.slice(0, 1), name],
    );
  return (
    <>
      <div class="bar">
        <h1>{other === undefined ? 'Runs' : 'Compare two runs'}</h1>
        {all.length > 0 && (
          <input
            type="search"
            placeholder="search"
            aria-label="search runs by name, job or state"
            value={query.value.find ?? ''}
            onInput={(event) => setQuery({ find: event.currentTarget.value || undefined })}
          />
        )}
        {a !== undefined && b !== undefined ? (
          <a class="button" href={linkTo(hrefOf({ page: 'diff', a, b }))}>
            Compare {a} and {b}
          </a>
        ) : (
          a !== undefined && <span>Choose a run to compare with {a}.</span>
        )}
        <span class="grow" />
        <span class="muted num">
          {text !== '' && `${rows.length} of `}
          {counted(all.length, 'run')} in <code>{data.folder}</code>
          {data.total > data.runs.length && ` · the newest ${data.runs.length} of ${data.total}`}
        </span>
      </div>
      {all.length === 0 ? (
        <div class="card">
          <div class="empty">
            <h2>No runs yet</h2>
            <p>
              Runs in <code>{data.folder}</code> appear here. The first command starts one, the
              second lists the available jobs:
            </p>
            {data.commands.map((text) => (
              <p key={text}>
                <Command text={text} />
              </p>
            ))}
          </div>
        </div>
      ) : (
        <Scrolls label="runs" class="card flush">
          <table class="runs">
            <thead>
              <tr>
                <Th left>
                  <span class="unseen">compare</span>
                </Th>
                <SortTh by="run" left>
                  run
                </SortTh>
                <SortTh by="state" left>
                  state
                </SortTh>
                <SortTh by="accuracy" about="eval/accuracy">
                  held-out accuracy
                </SortTh>
                <th class="l" scope="col" colSpan={2}>
                  latest value
                </th>
                <SortTh by="step">step</SortTh>
                <SortTh by="job" left>
                  job
                </SortTh>
                <SortTh by="started">started</SortTh>
                <Th>last update</Th>
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <Fragment key={row.name}>
                  <tr class={row.stateText === '' ? undefined : 'stated'} aria-busy={row.pending}>
                    <td class="l">
                      <label>
                        <input
                          type="checkbox"
                          aria-label={`compare ${row.name}`}
                          checked={chosen.includes(row.name)}
                          onChange={() => choose(row.name)}
                        />
                      </label>
                    </td>
                    <th scope="row">
                      <a href={linkTo(hrefOf({ page: 'results', run: row.name, id: '' }))}>
                        <RunName run={row.name} />
                      </a>
                    </th>
                    <td class="l">
                      <State state={row.state} />
                    </td>
                    <td>
                      <b>{row.pending ? '…' : orDash(row.accuracy, (share) => percent(share))}</b>
                    </td>
                    <td class="l">
                      {row.metric !== null && (
                        <>
                          <span class="num">{value(row.last)}</span>{' '}
                          <span class="muted">{row.metric}</span>
                        </>
                      )}
                    </td>
                    <td class={`l ink${colourOf(row.name)}`}>
                      <Spark values={row.spark} />
                    </td>
                    <td>{row.pending ? '…' : orDash(row.step, thousands)}</td>
                    <td class="l">{row.job}</td>
                    <td>
                      <Ago at={row.startedMs} />
                    </td>
                    <td>
                      <Ago at={row.heardMs} />
                    </td>
                  </tr>
                  {row.stateText !== '' && (
                    <tr>
                      <td />
                      <td class="l" colSpan={9}>
                        <p class="note">
                          <Said text={row.stateText} />
                        </p>
                      </td>
                    </tr>
                  )}
                </Fragment>
              ))}
            </tbody>
          </table>
          {more}
        </Scrolls>
      )}
      {data.unreadable.length > 0 && (
        <section class="card">
          <h2>Runs whose run.json cannot be read</h2>
          <dl class="pair">
            {data.unreadable.map(({ name, why }) => (
              <>
                <dt>
                  <code>{name}</code>
                </dt>
                <dd class="bad">{why}</dd>
              </>
            ))}
          </dl>
        </section>
      )}
    </>
  );
}

/**
 * The rows as they were requested, with what the stream said since: newer rows, new runs first, those that
 * are gone left out.
 */
export function newest(
  rows: readonly RunRow[],
  live: ReadonlyMap<string, RunRow | null>,
): readonly RunRow[] {
  const known = new Set(rows.map(({ name }) => name));
  const fresh = [...live.values()].filter(
    (row): row is RunRow => row !== null && !known.has(row.name),
  );
  const now = rows.flatMap((row) => {
    const said = live.get(row.name);
    return said === null ? [] : [said ?? row];
  });
  return [...fresh.sort((a, b) => b.startedMs - a.startedMs), ...now];
}
