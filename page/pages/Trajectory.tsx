/**
 * One trajectory, as text: what the policy wrote, the tool calls under the turn that made them, and behind the words how sure
 * the policy was of them. Left its group, right its facts.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { fixed, orDash, signed } from '../../views/numbers.ts';
import type { Call, TrajectoryTwin, Turn } from '../../views/page/wire.ts';
import {
  canHighlight,
  highlight,
  names as highlightNames,
  type Piece,
  rangesOf,
} from '../data/highlights.ts';
import { useKeys } from '../data/keyboard.ts';
import { at, go, linkAt, linkTo, query, setQuery } from '../data/place.ts';
import { recordLink } from '../data/recordLink.ts';
import { useHead } from '../data/shownHead.ts';
import { listen } from '../data/stream.ts';
import { command, copy } from '../data/take.ts';
import { bytesOf, prefetch, useTwin } from '../data/twin.ts';
import { blocksOf, tagsOf } from '../logic/blocks.ts';
import { count, milliseconds, value } from '../logic/format.ts';
import { amountOf, levelOf, type Paint, paints, runsOf } from '../logic/paint.ts';
import { pathOf, type Query, twinOf, withQuery } from '../logic/route.ts';
import { type ShownText, shownText } from '../logic/shownText.ts';
import { readTokens, type Tokens, tokenAt } from '../logic/tokens.ts';
import { BranchTree, glyphOf } from '../parts/BranchTree.tsx';
import { Hostile, Missing, textOf } from '../parts/basics.tsx';
import { Strip } from '../parts/Strip.tsx';

export function Trajectory({ run, id }: { readonly run: string; readonly id: string }) {
  const now = query.value;
  const [full, setFull] = useState(false);
  const path = pathOf({ page: 'trajectory', run, id });
  const asked: Query = {
    ...(at.value === '' ? {} : { at: at.value }),
    ...(full ? { full: '1' } : {}),
  };
  const answer = useTwin<TrajectoryTwin>(twinOf(path, asked));
  const { data } = answer;
  useHead(data);
  useEffect(() => setFull(false), [id]);
  useEffect(() => listen({ run, metrics: [], runs: false, since: '' }), [run]);
  useEffect(() => {
    if (data === null) return;
    command.value = data.command;
    for (const ref of [data.after, data.before]) {
      if (ref !== null) prefetch(twinOf(pathOf({ page: 'trajectory', run, id: ref }), asked));
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
  const paint: Paint = paints.includes(now.show as Paint)
    ? (now.show as Paint)
    : now.show === 'none'
      ? 'none'
      : 'logprob';
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
    paint: () => setQuery({ show: paints[(paints.indexOf(paint) + 1) % paints.length] }),
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
  const text = textOf(question.text);
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
            <h2>
              {group.phase} · round {group.stage}
            </h2>
            <BranchTree rollouts={group.rollouts} run={run} here={rollout.ref} />
          </section>
        </aside>
        <div class="reader-text">
          <section class="card question" aria-label="question">
            <p class="question-text">
              <Hostile text={text.text} />
            </p>
            <p class="muted">
              expected{' '}
              <b>
                <Hostile text={question.answers.join(' or ')} max={300} />
              </b>
            </p>
            <details>
              <summary>Prompt, {count(data.prompt.tokens)} tokens</summary>
              <pre tabIndex={0}>
                <Hostile text={textOf(data.prompt.text).text || 'Its text is not known.'} />
              </pre>
            </details>
          </section>
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

function useTokens(data: TrajectoryTwin | null): Tokens | null {
  const [tokens, setTokens] = useState<{
    readonly href: string;
    readonly tokens: Tokens | null;
  } | null>(null);
  const href = data?.tokens?.href ?? null;
  useEffect(() => {
    if (href === null) return;
    const abort = new AbortController();
    bytesOf(href, abort.signal).then(
      (bytes) => setTokens({ href, tokens: bytes === null ? null : readTokens(bytes) }),
      () => {},
    );
    return () => abort.abort();
  }, [href]);
  return tokens?.href === href ? (tokens?.tokens ?? null) : null;
}

const paintWords: Readonly<Record<Paint, string>> = {
  logprob: 'surprise',
  entropy: 'entropy',
  version: 'version',
  none: 'nothing',
};

function PaintBar({
  paint,
  tokens,
  why,
  data,
}: {
  readonly paint: Paint;
  readonly tokens: Tokens | null;
  readonly why: string;
  readonly data: TrajectoryTwin;
}) {
  if (data.tokens === null) return <p class="note">{why}</p>;
  const known = (one: Paint): boolean =>
    tokens === null ||
    (one === 'logprob' ? tokens.logProb !== null : one !== 'entropy' || tokens.entropy !== null);
  return (
    <section class="card paint" aria-label="How sure the policy was">
      <div class="bar">
        <span class="segmented" role="group" aria-label="paint the text by">
          {paints.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={paint === one}
              disabled={!known(one)}
              title={known(one) ? 'e' : 'not measured in this job'}
              onClick={() => setQuery({ show: one === 'logprob' ? undefined : one })}
            >
              {paintWords[one]}
            </button>
          ))}
        </span>
        <Scale paint={paint} data={data} />
      </div>
      {tokens !== null && (paint === 'logprob' || paint === 'entropy') && (
        <Strip tokens={tokens} paint={paint} data={data} />
      )}
    </section>
  );
}

function Scale({ paint, data }: { readonly paint: Paint; readonly data: TrajectoryTwin }) {
  if (paint === 'none') return null;
  if (paint === 'version') {
    const first = data.facts.spans[0]?.version ?? 0;
    const versions = [...new Set(data.facts.spans.map(({ version }) => version))];
    return (
      <span class="scale">
        {versions.map((version) => (
          <span key={version} class={`swatch version${(((version - first) % 6) + 6) % 6}`}>
            v{version}
          </span>
        ))}
      </span>
    );
  }
  return (
    <span
      class="scale"
      title={
        paint === 'logprob'
          ? 'minus log-prob of the token, in nats'
          : 'entropy of the turn, in nats'
      }
    >
      <span class="muted">{paint === 'logprob' ? 'expected' : 'sure'}</span>
      {[0, 1, 2, 3, 4, 5, 6, 7].map((level) => (
        <span key={level} class={`swatch level${level}`} aria-hidden="true" />
      ))}
      <span class="muted">
        {paint === 'logprob' ? 'surprising' : 'unsure'}; underlined: the top 5 %
      </span>
    </span>
  );
}

interface Prepared {
  readonly turn: Turn;
  readonly shown: ShownText;
  readonly blocks: readonly string[];
  readonly part: string;
}

function Turns({
  data,
  tokens,
  paint,
  turn,
  token,
  run,
  closed,
  onFull,
}: {
  readonly data: TrajectoryTwin;
  readonly tokens: Tokens | null;
  readonly paint: Paint;
  readonly turn: number | null;
  readonly token: number | null;
  readonly run: string;
  readonly closed: ReadonlySet<number>;
  readonly onFull: () => void;
}) {
  const root = useRef<HTMLOListElement>(null);
  const prepared = useMemo(
    () =>
      data.turns.map((one): Prepared => {
        const { text, part } = textOf(one.text);
        const shown = shownText(text);
        return { turn: one, shown, blocks: blocksOf(shown.text), part };
      }),
    [data.turns],
  );
  // Colours, whenever what is shown or the way of painting changes.
  useLayoutEffect(() => {
    if (!canHighlight || root.current === null) return;
    const ranges = new Map<string, StaticRange[]>();
    const add = (name: string, pieces: readonly Piece[], start: number, end: number): void => {
      ranges.set(name, [...(ranges.get(name) ?? []), ...rangesOf(pieces, start, end)]);
    };
    const lists = new Map<string, StaticRange[]>();
    const runs = tokens === null ? [] : runsOf(tokens, paint);
    for (const { turn: of, shown } of prepared) {
      const pieces = piecesOf(root.current, of.index);
      for (const { start, end, kind } of tagsOf(shown.text)) add(kind, pieces, start, end);
      for (const { start, end } of shown.marks) add('mark', pieces, start, end);
      if (tokens === null || of.kind === 'tool') continue;
      const base = tokens.starts[of.start] ?? 0;
      const place = (at: number): number => shown.at(Math.max(0, tokens.starts[at]! - base));
      for (const { name, start, end } of runs) {
        if (end <= of.start || start >= of.end) continue;
        const list = lists.get(name) ?? [];
        lists.set(name, list);
        for (const range of rangesOf(
          pieces,
          place(Math.max(start, of.start)),
          place(Math.min(end, of.end)),
        ))
          list.push(range);
      }
    }
    for (const [name, list] of lists) ranges.set(name, list);
    highlight(
      ranges,
      highlightNames.filter((name) => name !== 'chosen'),
    );
    return () => highlight(new Map(), highlightNames);
  }, [prepared, tokens, paint, closed]);

  // The chosen token.
  useLayoutEffect(() => {
    if (root.current === null) return;
    const of =
      token === null || tokens === null
        ? undefined
        : prepared.find(({ turn: one }) => token >= one.start && token < one.end);
    if (of === undefined || tokens === null || token === null) {
      highlight(new Map(), ['chosen']);
      return;
    }
    const base = tokens.starts[of.turn.start]!;
    const ranges = rangesOf(
      piecesOf(root.current, of.turn.index),
      of.shown.at(tokens.starts[token]! - base),
      of.shown.at(tokens.starts[token + 1]! - base),
    );
    highlight(new Map([['chosen', ranges]]), ['chosen']);
    const node = ranges[0]?.startContainer;
    if (node === undefined) return;
    const range = document.createRange();
    range.setStart(node, ranges[0]!.startOffset);
    range.setEnd(node, ranges[0]!.endOffset);
    const box = range.getBoundingClientRect();
    if (box.top < 120 || box.bottom > innerHeight - 40) scrollBy(0, box.top - innerHeight / 3);
  }, [prepared, tokens, token]);

  // A link to a turn lands there, and j and k move there.
  useLayoutEffect(() => {
    if (turn === null || token !== null) return;
    root.current?.querySelector(`[data-turn="${turn}"]`)?.scrollIntoView({ block: 'start' });
  }, [turn, prepared]);

  const choose = (event: MouseEvent): void => {
    if (tokens === null || !(getSelection()?.isCollapsed ?? true)) return;
    const place = caretAt(event.clientX, event.clientY);
    const element = place?.node.parentElement?.closest<HTMLElement>('[data-start]');
    const of = prepared.find(
      ({ turn: one }) =>
        String(one.index) === element?.closest<HTMLElement>('[data-turn]')?.dataset.turn,
    );
    if (
      place === null ||
      place === undefined ||
      element == null ||
      of === undefined ||
      of.turn.kind === 'tool'
    )
      return;
    const offset = of.shown.from(Number(element.dataset.start) + place.offset);
    const chosen = tokenAt(tokens.starts, tokens.starts[of.turn.start]! + offset);
    setQuery({ tok: String(Math.min(chosen, of.turn.end - 1)), turn: undefined });
  };
  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the strip above moves the token by keys. */}
      <ol class="turns" ref={root} onClick={choose}>
        {prepared.map((one) => (
          <TurnItem
            key={one.turn.index}
            prepared={one}
            here={turn === one.turn.index}
            run={run}
            id={data.rollout.ref}
            closed={closed.has(one.turn.index)}
            tokens={tokens}
            paint={paint}
            onFull={onFull}
          />
        ))}
      </ol>
      {prepared.length === 0 && <p class="card empty">It wrote nothing.</p>}
      <TokenLine tokens={tokens} token={token} />
    </>
  );
}

function caretAt(x: number, y: number): { readonly node: Node; readonly offset: number } | null {
  const modern = document as Document & {
    caretPositionFromPoint?(x: number, y: number): { offsetNode: Node; offset: number } | null;
    caretRangeFromPoint?(x: number, y: number): Range | null;
  };
  const position = modern.caretPositionFromPoint?.(x, y);
  if (position != null) return { node: position.offsetNode, offset: position.offset };
  const range = modern.caretRangeFromPoint?.(x, y);
  return range == null ? null : { node: range.startContainer, offset: range.startOffset };
}

function piecesOf(root: Element, turn: number): readonly Piece[] {
  return [...root.querySelectorAll<HTMLElement>(`[data-turn="${turn}"] [data-start]`)].flatMap(
    (element) =>
      element.firstChild instanceof Text
        ? [{ node: element.firstChild, start: Number(element.dataset.start) }]
        : [],
  );
}

/** More of a tool's result than this is folded away until it is opened. */
const resultMax = 900;

function TurnItem({
  prepared: { turn, shown, blocks, part },
  here,
  run,
  id,
  closed,
  tokens,
  paint,
  onFull,
}: {
  readonly prepared: Prepared;
  readonly id: string;
  readonly here: boolean;
  readonly run: string;
  readonly closed: boolean;
  readonly tokens: Tokens | null;
  readonly paint: Paint;
  readonly onFull: () => void;
}) {
  const isTool = turn.kind === 'tool';
  const long = isTool && shown.text.length > resultMax;
  const [opened, setOpened] = useState(false);
  const folded = long ? opened === closed : closed;
  const facts = [
    `${count(turn.end - turn.start)} tokens`,
    turn.entropy === null ? '' : `entropy ${value(turn.entropy)}`,
    turn.logProb === null ? '' : `log-prob ${value(turn.logProb)}`,
  ].filter((fact) => fact !== '');
  return (
    <li class={`turn ${turn.kind}${here ? ' here' : ''}`} data-turn={turn.index}>
      <div class="turn-head">
        <a
          class="turn-name"
          href={linkAt(
            { page: 'trajectory', run, id },
            withQuery({ show: query.value.show ?? '' }, { turn: String(turn.index) }),
          )}
        >
          {isTool ? `${turn.tool ?? 'tool'} result` : 'policy'}
        </a>
        {!isTool && <span class="chip">v{turn.version}</span>}
        <span class="muted num">{facts.join(' · ')}</span>
        {isTool && (long || closed) && (
          <button
            type="button"
            class="quiet"
            aria-expanded={!folded}
            onClick={() => setOpened(!opened)}
          >
            {folded ? 'open' : 'close'}
          </button>
        )}
      </div>
      {turn.calls.map((call) => (
        <CallLine key={call.ref} call={call} run={run} />
      ))}
      <div class={folded ? 'turn-text folded' : 'turn-text'}>
        {canHighlight || tokens === null || isTool ? (
          <Blocks blocks={blocks} />
        ) : (
          <Spans turn={turn} tokens={tokens} paint={paint} shown={shown} />
        )}
      </div>
      {part !== '' && (
        <p class="note">
          {part}{' '}
          <button type="button" class="quiet" onClick={onFull}>
            load all of it
          </button>
        </p>
      )}
    </li>
  );
}

function Blocks({ blocks }: { readonly blocks: readonly string[] }) {
  let start = 0;
  return (
    <>
      {blocks.map((block) => {
        const at = start;
        start += block.length;
        return (
          <div key={at} class="block" data-start={at}>
            {block}
          </div>
        );
      })}
    </>
  );
}

/** For browsers without custom highlights: an element a token. */
function Spans({
  turn,
  tokens,
  paint,
  shown,
}: {
  readonly turn: Turn;
  readonly tokens: Tokens;
  readonly paint: Paint;
  readonly shown: ShownText;
}) {
  const base = tokens.starts[turn.start]!;
  const parts = [];
  const first = tokens.version(0) ?? 0;
  for (let token = turn.start; token < turn.end; token++) {
    const start = shown.at(tokens.starts[token]! - base);
    const end = shown.at(tokens.starts[token + 1]! - base);
    const name =
      paint === 'none'
        ? ''
        : paint === 'version'
          ? `version${((((tokens.version(token) ?? first) - first) % 6) + 6) % 6}`
          : `level${levelOf(amountOf(tokens, paint, token), paint)}`;
    parts.push(
      <span key={token} class={name} data-start={start}>
        {shown.text.slice(start, end)}
      </span>,
    );
  }
  return <div class="block">{parts}</div>;
}

function CallLine({ call, run }: { readonly call: Call; readonly run: string }) {
  const input = textOf(call.input);
  const facts = [
    milliseconds(call.ms),
    call.cached ? 'cached' : '',
    call.attempts > 1 ? `${call.attempts} attempts` : '',
  ].filter((fact) => fact !== '');
  return (
    <p class="call">
      <span class={call.ok ? 'good' : 'bad'}>
        <span aria-hidden="true">{call.ok ? '✓' : '!'}</span> {call.ok ? 'ok' : 'failed'}
      </span>{' '}
      <code>
        {call.tool}(<Hostile text={input.text} max={300} />)
      </code>{' '}
      <span class="muted num">{facts.join(' · ')}</span>{' '}
      <a class="muted" href={recordLink(run, 'tool-calls', call.ref)}>
        record
      </a>
    </p>
  );
}

function TokenLine({
  tokens,
  token,
}: {
  readonly tokens: Tokens | null;
  readonly token: number | null;
}) {
  if (tokens === null || token === null || !(token >= 0 && token < tokens.count)) return null;
  const text = tokens.text.slice(tokens.starts[token]!, tokens.starts[token + 1]!);
  const [entropy, logProb] = [tokens.entropy?.[token], tokens.logProb?.[token]];
  return (
    <p class="token-line" role="status">
      <span>
        token <b class="num">{token}</b>
      </span>
      <code>
        <Hostile text={JSON.stringify(text)} />
      </code>
      {logProb !== undefined && !Number.isNaN(logProb) && !tokens.isTool(token) && (
        <span>
          log-prob <b class="num">{value(Number(logProb.toFixed(3)))}</b>{' '}
          <span class="muted">({(100 * Math.exp(logProb)).toFixed(1)} %)</span>
        </span>
      )}
      {entropy !== undefined && !Number.isNaN(entropy) && (
        <span>
          entropy <b class="num">{value(Number(entropy.toFixed(3)))}</b>
        </span>
      )}
      <span>
        version <b class="num">{orDash(tokens.version(token), String)}</b>
      </span>
      <button type="button" class="quiet" onClick={() => setQuery({ tok: undefined })}>
        close
      </button>
    </p>
  );
}

function Facts({
  data,
  run,
  tokens,
}: {
  readonly data: TrajectoryTwin;
  readonly run: string;
  readonly tokens: Tokens | null;
}) {
  const { rollout, facts, group } = data;
  const parts = Object.entries(rollout.parts);
  const largest = Math.max(0.001, ...parts.map(([, part]) => Math.abs(part)));
  return (
    <>
      <section class="card">
        <h2>Reward</h2>
        {rollout.reward === null ? (
          <p class="muted">It was not rewarded.</p>
        ) : (
          <>
            <p class="big num">{fixed(3)(rollout.reward)}</p>
            <table class="parts">
              <tbody>
                {parts.map(([name, part]) => (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td>
                      <svg
                        width="64"
                        height="10"
                        aria-hidden="true"
                        class={part < 0 ? 'ink3' : 'ink0'}
                      >
                        <rect
                          x="0"
                          y="1"
                          width={(64 * Math.abs(part)) / largest}
                          height="8"
                          rx="1"
                          fill="currentColor"
                        />
                      </svg>
                    </td>
                    <td>{signed(part, fixed(2))}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            {rollout.advantage !== null && (
              <p>
                advantage <b class="num">{signed(rollout.advantage, fixed(3))}</b>
              </p>
            )}
          </>
        )}
      </section>
      <section class="card">
        <h2>Facts</h2>
        <dl class="pair">
          <dt>ended by</dt>
          <dd>
            {rollout.finish}
            {rollout.reason !== '' && (
              <>
                : <Hostile text={rollout.reason} max={300} />
              </>
            )}
          </dd>
          <dt>tokens</dt>
          <dd class="num">{count(rollout.tokens)}</dd>
          <dt>tool calls</dt>
          <dd class="num">
            {rollout.toolCalls}
            {(rollout.toolErrors ?? 0) > 0 && `, ${rollout.toolErrors} failed`}
          </dd>
          <dt>took</dt>
          <dd class="num">{milliseconds(rollout.ms)}</dd>
          <dt>{rollout.versions.length > 1 ? 'versions' : 'version'}</dt>
          <dd>
            {rollout.versions.map((version, i) => (
              <>
                {i > 0 && ', '}
                <a href={linkAt({ page: 'weights', run, id: String(version) })}>v{version}</a>
              </>
            ))}
          </dd>
          <dt>seed</dt>
          <dd class="num">{facts.seed}</dd>
          <dt>selected</dt>
          <dd>
            {group.verdict === null ? (
              <span class="muted">not judged</span>
            ) : (
              <>
                {group.verdict.kept ? '✓ kept' : '○ not kept'}, {group.verdict.why}, front{' '}
                {group.verdict.front}
              </>
            )}
          </dd>
          <dt>trained in</dt>
          <dd>
            {group.batch === null ? (
              <span class="muted">no step</span>
            ) : (
              <a href={recordLink(run, 'batches', group.batch.ref)}>step {group.batch.step}</a>
            )}
          </dd>
          <dt>record</dt>
          <dd>
            <a href={linkTo(data.record)}>rollouts {rollout.ref}</a>
          </dd>
        </dl>
        <p class="note">
          <button type="button" onClick={() => void copy(data.command, 'command')}>
            Copy the command
          </button>
        </p>
      </section>
      {facts.surprises.length > 0 && tokens !== null && (
        <section class="card">
          <h2>Least expected tokens</h2>
          <ol class="surprises">
            {facts.surprises.map(({ token, text, logProb }) => (
              <li key={token}>
                <button
                  type="button"
                  class="quiet"
                  onClick={() => setQuery({ tok: String(token), turn: undefined })}
                >
                  <code>
                    <Hostile text={JSON.stringify(text)} max={24} />
                  </code>
                  <span class="num muted">
                    {(100 * Math.exp(logProb)).toFixed(1)} % · token {token}
                  </span>
                </button>
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}
