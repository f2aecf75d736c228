/**
 * A question and every time that it was rolled out: its rollouts side by side, how they branched, and the
 * group's outcome.
 */
import { useState } from 'preact/hooks';
import { counted, thousands } from '../../../base/text/index.ts';
import { orDash } from '../../../summary/format/index.ts';
import type { Group, QuestionData } from '../../wire/index.ts';
import { useKeys } from '../data/keyboard.ts';
import { at, go, linkAt } from '../data/place.ts';
import { recordLink } from '../data/recordLink.ts';
import { useRun, useView } from '../data/useView.ts';
import { fixed } from '../logic/format.ts';
import { About } from '../parts/About.tsx';
import { BranchTree } from '../parts/BranchTree.tsx';
import { Hostile, Missing } from '../parts/basics.tsx';
import { QuestionCard } from '../parts/QuestionCard.tsx';
import { RolloutTable } from '../parts/RolloutTable.tsx';

export function Question({ run, id }: { readonly run: string; readonly id: string }) {
  const answer = useView<QuestionData>({ page: 'question', run, id });
  const { data } = answer;
  useRun(run);
  const rollouts = data?.groups.flatMap((group) => group.rollouts) ?? [];
  const [selected, setSelected] = useState<string | null>(null);
  const place = rollouts.findIndex(({ ref }) => ref === selected);
  const select = (index: number): void => {
    const rollout = rollouts[Math.max(0, Math.min(rollouts.length - 1, index))];
    setSelected(rollout?.ref ?? null);
    if (rollout !== undefined)
      document.querySelector(`tr[data-ref="${rollout.ref}"]`)?.scrollIntoView({ block: 'nearest' });
  };
  useKeys({
    next: () => select(place + 1),
    previous: () => select(place - 1),
    first: () => select(0),
    last: () => select(rollouts.length - 1),
    toggle: () => {
      if (selected !== null) go(linkAt({ page: 'trajectory', run, id: selected }));
    },
  });
  if (data === null) return <Missing answer={answer} />;
  const { question, groups, total } = data;
  return (
    <>
      <div class="page-head">
        <h1>
          <span class="muted">question </span>
          <Hostile text={question.id} max={120} />
        </h1>
      </div>
      <QuestionCard question={question} />
      {groups.length === 0 && (
        <div class="card empty">
          <p>Not rolled out {at.value === '' ? 'yet' : 'then'}.</p>
        </div>
      )}
      {[...groups].reverse().map((group) => (
        <GroupCard
          key={`${group.when} ${group.rollouts[0]?.ref}`}
          group={group}
          run={run}
          selected={selected}
        />
      ))}
      {(groups.length < total || data.scanned < data.of) && (
        <p class="note">
          {counted(groups.length, 'group')} of {total}; {thousands(data.scanned)} of{' '}
          {thousands(data.of)} records were searched.
        </p>
      )}
    </>
  );
}

function GroupCard({
  group,
  run,
  selected,
}: {
  readonly group: Group;
  readonly run: string;
  readonly selected: string | null;
}) {
  const { verdict, batch } = group;
  const branched = group.rollouts.some(({ parent }) => parent !== null);
  return (
    <section class="card group" aria-label={group.when}>
      <div class="card-head">
        <h2>
          {group.when}
          {group.version !== null && <span class="muted"> · version {group.version}</span>}
        </h2>
        <span class="grow" />
        {verdict !== null && (
          <span>
            <a href={recordLink(run, 'selected', verdict.ref)}>
              {verdict.kept ? '✓ kept' : '○ not kept'}: {verdict.why}
            </a>
            <About kind="verdict" name={verdict.why} />
            <span class="muted">
              {' '}
              front {verdict.front}
              <About kind="selection" name="front" />, spread of calls{' '}
              {orDash(verdict.objectives[0], fixed(2))}, of correctness{' '}
              {orDash(verdict.objectives[1], fixed(2))}
            </span>
          </span>
        )}
        {batch !== null && (
          <p>
            trained in <a href={recordLink(run, 'batches', batch.ref)}>step {batch.step}</a>
          </p>
        )}
        {group.scored === null && (
          <span class="muted">
            not scored: {group.rollouts.length} of {counted(group.size, 'rollout')} there
          </span>
        )}
        {group.scored !== null && group.rollouts.length < group.size && (
          <span class="bad">
            {group.size - group.rollouts.length} of {group.size} rollouts cannot be read: damaged,
            or no longer kept
          </span>
        )}
        {group.scored !== null && (
          <a class="muted" href={recordLink(run, 'scored', group.scored)}>
            record
          </a>
        )}
      </div>
      <div class={branched ? 'group-body branched' : 'group-body'}>
        {branched && <BranchTree rollouts={group.rollouts} run={run} />}
        <RolloutTable rollouts={group.rollouts} run={run} selected={selected} />
      </div>
    </section>
  );
}
