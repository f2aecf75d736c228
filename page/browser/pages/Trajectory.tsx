/**
 * One trajectory, as text: what the policy wrote, the tool calls under the turn that made them, and after
 * the words how sure the policy was of them. On the left its group, on the right its facts.
 */

import { useEffect, useState } from 'preact/hooks';
import { counted } from '../../../base/text/index.ts';
import type { TrajectoryData } from '../../wire/index.ts';
import { useKeys } from '../data/keyboard.ts';
import { go, linkAt, query, setQuery } from '../data/place.ts';
import { prefetch } from '../data/useData.ts';
import { useTokens } from '../data/useTokens.ts';
import { passed, useRun, useView } from '../data/useView.ts';
import { fixed } from '../logic/format.ts';
import { isKnown, paints } from '../logic/paint.ts';
import { dataUrl, pathOf, type Query } from '../logic/route.ts';
import { BranchTree, glyphOf } from '../parts/BranchTree.tsx';
import { Hostile, Missing, textOf } from '../parts/basics.tsx';
import { QuestionCard } from '../parts/QuestionCard.tsx';
import { Facts } from '../parts/trajectory/Facts.tsx';
import { PaintBar } from '../parts/trajectory/PaintBar.tsx';
import { SessionTree } from '../parts/trajectory/SessionTree.tsx';
import { Turns } from '../parts/trajectory/Turns.tsx';

export function Trajectory({ run, id }: { readonly run: string; readonly id: string }) {
  const now = query.value;
  const [full, setFull] = useState(false);
  const asked: Query = { ...passed(['at']), ...(full ? { full: '1' } : {}) };
  const answer = useView<TrajectoryData>({ page: 'trajectory', run, id }, asked);
  const { data } = answer;
  useRun(run);
  useEffect(() => setFull(false), [id]);
  useEffect(() => {
    if (data === null) return;
    for (const ref of [data.after, data.before]) {
      if (ref !== null) prefetch(dataUrl(pathOf({ page: 'trajectory', run, id: ref }), asked));
    }
  }, [data]);
  const tokens = useTokens(data);

  const to = (ref: string | null): void => {
    if (ref === null) return;
    // The way of painting stays from rollout to rollout; the place in the text does not.
    go(
      linkAt(
        { page: 'trajectory', run, id: ref },
        now.show === undefined ? {} : { show: now.show },
      ),
    );
  };
  const paint = paints.find((one) => one === now.show) ?? 'logprob';
  const turn = now.turn === undefined ? null : Number(now.turn);
  const last = (data?.turns.length ?? 1) - 1;
  const toTurn = (index: number): void => {
    const next = Math.max(0, Math.min(last, index));
    setQuery({ turn: String(next), tok: undefined });
  };
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set());
  useKeys({
    next: () => toTurn((turn ?? -1) + 1),
    previous: () => toTurn((turn ?? 1) - 1),
    first: () => toTurn(0),
    last: () => toTurn(last),
    nextRollout: () => to(data?.after ?? null),
    previousRollout: () => to(data?.before ?? null),
    nextGroup: () => to(data?.groupAfter ?? null),
    previousGroup: () => to(data?.groupBefore ?? null),
    parent: () => {
      const { parent } = data?.rollout ?? { parent: null };
      if (parent !== null)
        to(data?.group.rollouts.find(({ index }) => index === parent.index)?.ref ?? null);
    },
    child: () =>
      to(
        data?.group.rollouts.find(({ parent }) => parent?.index === data.rollout.index)?.ref ??
          null,
      ),
    paint: () => {
      const known = paints.filter((one) => one === paint || isKnown(tokens, one));
      setQuery({ show: known[(known.indexOf(paint) + 1) % known.length] });
    },
    toggle: () => {
      const tool = data?.turns.find(({ kind, index }) => kind === 'tool' && index >= (turn ?? 0));
      if (tool === undefined) return;
      const next = new Set(closed);
      if (!next.delete(tool.index)) next.add(tool.index);
      setClosed(next);
    },
  });

  if (data === null) return <Missing answer={answer} />;
  const { rollout, question, group } = data;
  const [glyph, tone, word] = glyphOf(rollout);
  return (
    <>
      <div class="page-head">
        <h1>
          <a href={linkAt({ page: 'question', run, id: question.id })}>
            <Hostile text={question.id} max={80} />
          </a>
          <span class="muted">
            {' '}
            · rollout {rollout.index + 1} of {group.size}
          </span>
        </h1>
        <span class={`verdict ${tone}`}>
          <span aria-hidden="true">{glyph}</span> {word}
        </span>
        {rollout.reward !== null && (
          <span>
            reward <b class="num">{fixed(3)(rollout.reward)}</b>
          </span>
        )}
        <span class="grow" />
        <span class="button-row">
          <button
            type="button"
            disabled={data.before === null}
            title="p"
            onClick={() => to(data.before)}
          >
            ← previous
          </button>
          <button
            type="button"
            disabled={data.after === null}
            title="n"
            onClick={() => to(data.after)}
          >
            next →
          </button>
        </span>
      </div>
      <div class="reader">
        <aside class="reader-group" aria-label="Its group">
          <section class="card">
            <h2>{group.when}</h2>
            <BranchTree rollouts={group.rollouts} run={run} here={rollout.ref} />
          </section>
          {data.session && <SessionTree session={data.session} run={run} id={id} />}
        </aside>
        <div>
          <QuestionCard question={question}>
            <details>
              <summary>Prompt, {counted(data.prompt.tokens, 'token')}</summary>
              <pre tabIndex={0}>
                <Hostile text={textOf(data.prompt.text).text || 'Text not available.'} />
              </pre>
            </details>
          </QuestionCard>
          <PaintBar paint={paint} tokens={tokens} why={data.tokensWhy} data={data} />
          <Turns
            data={data}
            tokens={tokens}
            paint={paint}
            turn={turn}
            token={now.tok === undefined ? null : Number(now.tok)}
            run={run}
            closed={closed}
            onFull={() => setFull(true)}
          />
        </div>
        <aside class="reader-facts" aria-label="Facts">
          <Facts data={data} run={run} tokens={tokens} />
        </aside>
      </div>
    </>
  );
}
