/**
 * The newest rollouts: sorted by a column, filtered by a click on a value, each row leads to its trajectory.
 */

import { useState } from 'preact/hooks';
import { thousands } from '../../../base/text/index.ts';
import { orDash } from '../../../summary/format/index.ts';
import type { ListedRollout, RolloutsData } from '../../wire/index.ts';
import { go, linkAt, query, setQuery } from '../data/place.ts';
import { grownOf, passed, useRun, useView } from '../data/useView.ts';
import { fixed } from '../logic/format.ts';
import type { Columns } from '../logic/sorted.ts';
import { glyphOf } from '../parts/BranchTree.tsx';
import { Hostile, Missing, Scrolls } from '../parts/basics.tsx';
import { SortTh, sorted, useRows } from '../parts/sorting.tsx';

const most = 1000;

const columns: Columns<ListedRollout> = {
  ended: (row) => glyphOf(row)[2],
  reward: (row) => row.reward,
  question: (row) => row.text,
  answer: (row) => row.answer,
  calls: (row) => row.toolCalls,
  tokens: (row) => row.tokens,
  phase: (row) => row.phase,
  version: (row) => row.versions[0] ?? null,
};

/** Columns whose values filter by a click. */
const filters = ['ended', 'phase', 'version'] as const;

export function Rollouts({ run }: { readonly run: string }) {
  const grown = grownOf('rollouts');
  const [seen, setSeen] = useState(0);
  const answer = useView<RolloutsData>(
    { page: 'rollouts', run, id: '' },
    passed(['n', 'at']),
    seen,
  );
  const { data } = answer;
  useRun(run);
  if (data === null) return <Missing answer={answer} />;
  const now = query.value;
  const on = filters.filter((name) => now[name] !== undefined);
  const rows = sorted(
    data.rows.filter((row) => on.every((name) => String(columns[name]!(row)) === now[name])),
    columns,
  );
  const fresh = grown - data.total;
  return (
    <>
      <div class="bar">
        <h1>Rollouts</h1>
        {on.map((name) => (
          <button type="button" key={name} onClick={() => setQuery({ [name]: undefined })}>
            {name}: <b>{now[name]}</b> <span aria-hidden="true">×</span>
            <span class="unseen">, show all</span>
          </button>
        ))}
        {fresh > 0 && (
          <button type="button" onClick={() => setSeen(grown)}>
            Show {thousands(fresh)} new
          </button>
        )}
        <span class="grow" />
        <span class="muted num">
          {on.length > 0 && `${thousands(rows.length)} of `}the newest {thousands(data.rows.length)}{' '}
          of {thousands(data.total)}
        </span>
        <a href={linkAt({ page: 'topics', run, id: 'rollouts' })}>search all records</a>
      </div>
      {rows.length === 0 ? (
        <div class="card empty">
          <p>{data.rows.length === 0 ? 'No rollout has finished yet.' : 'No rollout matches.'}</p>
        </div>
      ) : (
        <Table rows={rows} run={run} />
      )}
      {data.rows.length < data.total && data.rows.length < most && (
        <p class="center">
          <button type="button" onClick={() => setQuery({ n: String(most) })}>
            Older rollouts
          </button>
        </p>
      )}
    </>
  );
}

function Table({ rows, run }: { readonly rows: readonly ListedRollout[]; readonly run: string }) {
  const [shown, more] = useRows(rows);
  return (
    <Scrolls label="rollouts" class="card flush">
      <table class="rollouts">
        <thead>
          <tr>
            <SortTh by="ended" left>
              ended
            </SortTh>
            <SortTh by="reward" about="reward/mean">
              reward
            </SortTh>
            <SortTh by="question" left>
              question
            </SortTh>
            <SortTh by="answer" left>
              answer
            </SortTh>
            <SortTh by="calls">calls</SortTh>
            <SortTh by="tokens">tokens</SortTh>
            <SortTh by="phase" left>
              phase
            </SortTh>
            <SortTh by="version">version</SortTh>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <Row key={row.ref} row={row} run={run} />
          ))}
        </tbody>
      </table>
      {more}
    </Scrolls>
  );
}

function Row({ row, run }: { readonly row: ListedRollout; readonly run: string }) {
  const [glyph, tone, word] = glyphOf(row);
  const to = linkAt({ page: 'trajectory', run, id: row.ref });
  const filter = (name: (typeof filters)[number], text: string) => (
    <button
      type="button"
      class="quiet"
      title={`only these: ${name}`}
      onClick={() => setQuery({ [name]: String(columns[name]!(row)) })}
    >
      {text}
    </button>
  );
  return (
    // The link in it is there for the keyboard.
    <tr
      class="leads"
      data-ref={row.ref}
      onClick={(event) => {
        if ((event.target as Element).closest('a, button') === null) go(to);
      }}
    >
      <td class="l">
        <span class={tone} aria-hidden="true">
          {glyph}
        </span>{' '}
        {filter('ended', word)}
      </td>
      <td>{orDash(row.reward, fixed(3))}</td>
      <th scope="row">
        <a href={to}>
          <Hostile text={row.text} max={90} />
        </a>
      </th>
      <td class="l">
        <Hostile text={row.answer} max={40} />
      </td>
      <td>{row.toolCalls}</td>
      <td>{thousands(row.tokens)}</td>
      <td class="l">{filter('phase', row.phase)}</td>
      <td>{filter('version', row.versions.join(', '))}</td>
    </tr>
  );
}
