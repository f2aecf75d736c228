/** All runs of the folder, newest first; with `?diff=RUN` the other half of a comparison is chosen here. */
import { Fragment } from 'preact';
import { useEffect } from 'preact/hooks';
import { orDash } from '../../../summary/format/index.ts';
import type { RunRow, RunsData } from '../../wire/index.ts';
import { linkTo, query } from '../data/place.ts';
import { listen, refreshes, runRows } from '../data/stream.ts';
import { command } from '../data/take.ts';
import { useData } from '../data/useData.ts';
import { value } from '../logic/format.ts';
import { hrefOf } from '../logic/route.ts';
import { Ago, Command, Empty, Missing, Scrolls, State, Th } from '../parts/basics.tsx';
import { Spark } from '../parts/Spark.tsx';

export function Runs() {
  const answer = useData<RunsData>('/runs.json', refreshes.value);
  const { data } = answer;
  const other = query.value.diff;
  useEffect(() => {
    command.value = 'npx millrace view';
    listen({ runs: true });
  }, []);
  if (data === null) return <Missing answer={answer} />;
  const rows = newest(data.runs, runRows.value);
  return (
    <>
      <div class="bar">
        <h1>{other === undefined ? 'Runs' : 'Compare two runs'}</h1>
        <span class="muted">
          in <code>{data.folder}</code>
          {data.total > data.runs.length && ` · the newest ${data.runs.length} of ${data.total}`}
        </span>
      </div>
      {other !== undefined && (
        <p class="sentence">
          Choose a run to compare with <b>{other}</b>, or <a href={linkTo('/')}>cancel</a>.
        </p>
      )}
      {rows.length === 0 ? (
        <div class="card">
          <Empty>
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
          </Empty>
        </div>
      ) : (
        <Scrolls label="runs" class="card flush">
          <table class="runs">
            <thead>
              <tr>
                <Th left>run</Th>
                <Th left>state</Th>
                <Th left>job</Th>
                <Th>step</Th>
                <th class="l" scope="col" colSpan={2}>
                  latest value
                </th>
                <Th>started</Th>
                <Th>last update</Th>
                {other !== undefined && (
                  <Th>
                    <span class="unseen">compare</span>
                  </Th>
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <Fragment key={row.name}>
                  <tr class={row.stateText === '' ? undefined : 'stated'}>
                    <th scope="row">
                      <a href={linkTo(hrefOf({ page: 'overview', run: row.name, id: '' }))}>
                        {row.name}
                      </a>
                    </th>
                    <td class="l">
                      <State state={row.state} />
                    </td>
                    <td class="l">{row.job}</td>
                    <td>{orDash(row.step, String)}</td>
                    <td class="l">
                      {row.metric !== null && (
                        <>
                          <b class="num">{value(row.last)}</b>{' '}
                          <span class="muted">{row.metric}</span>
                        </>
                      )}
                    </td>
                    <td class="l">{row.spark.length > 1 && <Spark values={row.spark} />}</td>
                    <td>
                      <Ago at={row.startedMs} />
                    </td>
                    <td>
                      <Ago at={row.heardMs} />
                    </td>
                    {other !== undefined && (
                      <td>
                        {row.name !== other && (
                          <a
                            class="button"
                            href={linkTo(hrefOf({ page: 'diff', a: other, b: row.name }))}
                          >
                            compare
                          </a>
                        )}
                      </td>
                    )}
                  </tr>
                  {row.stateText !== '' && (
                    <tr>
                      <td class="l" colSpan={9}>
                        <p class="note">{row.stateText}</p>
                      </td>
                    </tr>
                  )}
                </Fragment>
              ))}
            </tbody>
          </table>
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
