/**
 * Two runs side by side: what was set differently, the outcome by question, and the first record and
 * token that differ.
 */

import { useEffect, useState } from 'preact/hooks';
import { counted, thousands } from '../../../base/text/index.ts';
import { orDash, percent, signed, significant } from '../../../summary/format/index.ts';
import type {
  DiffData,
  Divergence,
  Paired,
  PairedFigure,
  Shown,
  TokenText,
} from '../../wire/index.ts';
import { linkTo, query, setQuery } from '../data/place.ts';
import { shownHead } from '../data/shownHead.ts';
import { listen } from '../data/stream.ts';
import { command } from '../data/take.ts';
import { useData } from '../data/useData.ts';
import { fixed, value } from '../logic/format.ts';
import { coloursOf } from '../logic/lines.ts';
import { dataUrl, hrefOf, pathOf, type RunPage } from '../logic/route.ts';
import { About } from '../parts/About.tsx';
import {
  Command,
  Hostile,
  Missing,
  RunName,
  Scrolls,
  State,
  shownJson,
  Th,
} from '../parts/basics.tsx';

const link = (page: RunPage, run: string, id = ''): string => linkTo(hrefOf({ page, run, id }));

export function Diff({ a, b }: { readonly a: string; readonly b: string }) {
  const [asked, setAsked] = useState(0);
  const only = query.value.only === 'flips';
  const answer = useData<DiffData>(
    dataUrl(pathOf({ page: 'diff', a, b }), only ? { only: 'flips' } : {}),
    asked,
  );
  const { data } = answer;
  useEffect(() => {
    shownHead.value = null;
    listen({});
  }, []);
  useEffect(() => {
    command.value = data?.command ?? '';
    if (data?.divergence.state !== 'pending') return;
    const timer = setTimeout(() => setAsked(asked + 1), 1500);
    return () => clearTimeout(timer);
  }, [data]);
  if (data === null) return <Missing answer={answer} />;
  const colours = coloursOf([a, b]);
  return (
    <>
      <div class="page-head">
        <h1>
          <a href={link('overview', a)}>
            <RunName run={a} colour={colours[0]} />
          </a>{' '}
          <span class="muted">and</span>{' '}
          <a href={link('overview', b)}>
            <RunName run={b} colour={colours[1]} />
          </a>
        </h1>
        <span class="button-row">
          <State state={data.a.state} />
          <State state={data.b.state} />
        </span>
        <span class="grow" />
        <a class="button" href={linkTo(hrefOf({ page: 'diff', a: b, b: a }))}>
          Swap
        </a>
        <a class="button" href={linkTo(hrefOf({ page: 'metrics', run: a, id: '' }, { with: b }))}>
          Curves of both
        </a>
      </div>
      <DivergenceCard divergence={data.divergence} a={a} b={b} command={data.command} />
      <section class="card flush">
        <h2>
          Settings that differ{' '}
          <span class="muted num">
            {data.settings.length} of {data.settingsTotal}
          </span>
        </h2>
        {data.settings.length === 0 ? (
          <p class="empty">All settings are the same.</p>
        ) : (
          <Scrolls label="settings">
            <table>
              <thead>
                <tr>
                  <Th left>setting</Th>
                  <Th left>
                    <RunName run={a} colour={colours[0]} />
                  </Th>
                  <Th left>
                    <RunName run={b} colour={colours[1]} />
                  </Th>
                </tr>
              </thead>
              <tbody>
                {data.settings.map(({ name, a: one, b: other }) => (
                  <tr key={name}>
                    <th scope="row">
                      <code>{name}</code>
                    </th>
                    <td class="wrap">
                      <Hostile text={orDash(one, shownJson)} max={300} />
                    </td>
                    <td class="wrap">
                      <Hostile text={orDash(other, shownJson)} max={300} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scrolls>
        )}
      </section>
      {data.paired === null ? (
        <section class="card">
          <h2>By question</h2>
          <p class="muted">{data.pairedWhy}</p>
        </section>
      ) : (
        <PairedCards paired={data.paired} a={a} b={b} only={only} />
      )}
      {data.metrics.length > 0 && <MetricsCard data={data} a={a} b={b} />}
    </>
  );
}

function DivergenceCard({
  divergence,
  a,
  b,
  command: text,
}: {
  readonly divergence: Divergence;
  readonly a: string;
  readonly b: string;
  readonly command: string;
}) {
  const colours = coloursOf([a, b]);
  return (
    <section class="card" aria-live="polite">
      <h2>First difference</h2>
      {divergence.state === 'pending' && (
        <p class="muted">
          looking for the first differing record …
          {divergence.read !== null &&
            ` compared ${thousands(divergence.read.records)} of ${counted(divergence.read.of, 'record')}`}
        </p>
      )}
      {divergence.state === 'same' && (
        <p>✓ All {thousands(divergence.records)} records are the same.</p>
      )}
      {divergence.state === 'failed' && (
        <>
          <p class="muted">{divergence.why}</p>
          <Command text={text} />
        </>
      )}
      {divergence.state === 'differs' && (
        <>
          <p class="sentence">
            First in <b>{divergence.topic}</b>: record{' '}
            <code>
              <Hostile text={divergence.id} max={120} />
            </code>
            {divergence.field === '' ? (
              ', which only one run has'
            ) : (
              <>
                , field <code>{divergence.field}</code>
              </>
            )}
            {divergence.version >= 0 && `, while version ${divergence.version} was the newest`}.
          </p>
          {divergence.token !== null && (
            <p>
              They part at token <b class="num">{divergence.token.index}</b>
              {divergence.token.versionA !== null &&
                `, sampled by version ${divergence.token.versionA} and ${divergence.token.versionB ?? '–'}`}
              .
            </p>
          )}
          <div class="grid two">
            {(
              [
                [a, divergence.a, divergence.token?.a],
                [b, divergence.b, divergence.token?.b],
              ] as const
            ).map(([run, side, part], i) => (
              <div key={run}>
                <h3>
                  <RunName run={run} colour={colours[i]} />
                </h3>
                {side === null ? (
                  <p class="muted">has no such record</p>
                ) : (
                  <Side
                    run={run}
                    topic={divergence.topic}
                    side={side}
                    token={divergence.token?.index ?? null}
                    before={divergence.token?.before ?? null}
                    part={part ?? null}
                  />
                )}
              </div>
            ))}
          </div>
          <p class="note">
            Identical in both:{' '}
            {Object.entries(divergence.same)
              .map(([topic, { equal, all }]) => `${topic} ${thousands(equal)} of ${thousands(all)}`)
              .join(', ')}
            .
          </p>
        </>
      )}
    </section>
  );
}

function Side({
  run,
  topic,
  side,
  token,
  before,
  part,
}: {
  readonly run: string;
  readonly topic: string;
  readonly side: { readonly ref: string | null; readonly value: Shown };
  readonly token: number | null;
  readonly before: string | null;
  readonly part: TokenText | null;
}) {
  const { ref } = side;
  const href =
    ref === null
      ? null
      : topic === 'rollouts'
        ? linkTo(
            hrefOf(
              { page: 'trajectory', run, id: ref },
              token === null ? {} : { tok: String(token) },
            ),
          )
        : linkTo(hrefOf({ page: 'topics', run, id: topic }, { offset: ref.split('-').at(-1)! }));
  return (
    <>
      <pre class="value" tabIndex={0}>
        {before === null || part === null ? (
          <Hostile text={shownJson(side.value)} max={4000} />
        ) : (
          <>
            <span class="muted">
              <Hostile text={before} />
            </span>
            <mark>
              <Hostile text={part.text} />
            </mark>
            <Hostile text={part.rest} />
          </>
        )}
      </pre>
      {href !== null && <a href={href}>open it</a>}
    </>
  );
}

/** Figures as people call them, and as `metrics` does. */
const names: Readonly<Record<string, readonly [name: string, metric: string]>> = {
  meanToolCalls: ['tool calls', 'tools_mean'],
  formatValid: ['valid format', 'format_valid'],
  tokens: ['tokens per response', 'len_response'],
};

const shares = ['accuracy', 'efficiency', 'formatValid'];

function PairedCards({
  paired,
  a,
  b,
  only,
}: {
  readonly paired: Paired;
  readonly a: string;
  readonly b: string;
  readonly only: boolean;
}) {
  const flips = [...paired.flips].sort((p, q) => (p.to === q.to ? 0 : p.to === 'failed' ? -1 : 1));
  return (
    <>
      {!only && (
        <section class="card flush">
          <h2>
            Held-out questions, paired{' '}
            <span class="muted num">{counted(paired.questions, 'question')}</span>
          </h2>
          <Scrolls label="figures">
            <table>
              <thead>
                <tr>
                  <Th left>figure</Th>
                  <Th>{a}</Th>
                  <Th>{b}</Th>
                  <Th>difference</Th>
                  <Th>95 %</Th>
                  <Th left>
                    <span class="unseen">drawn</span>
                  </Th>
                </tr>
              </thead>
              <tbody>
                {paired.figures.map((figure) => (
                  <Figure key={figure.name} figure={figure} />
                ))}
              </tbody>
            </table>
          </Scrolls>
          <p class="note padded">
            Difference = {b} − {a}. An interval that excludes 0 is unlikely to be chance.
            {paired.onlyA + paired.onlyB > 0 &&
              ` Left out: ${counted(paired.onlyA, 'question')} that only ${a} was asked, ${paired.onlyB} that only ${b} was.`}
          </p>
        </section>
      )}
      <section class="card flush">
        <div class="card-head">
          <h2>Flips</h2>
          <span>
            <b class="bad num">{paired.solvedToFailed}</b> solved → failed ·{' '}
            <b class="good num">{paired.failedToSolved}</b> failed → solved
          </span>
          <span class="grow" />
          <button
            type="button"
            aria-pressed={only}
            onClick={() => setQuery({ only: only ? undefined : 'flips' })}
          >
            Show only flips
          </button>
        </div>
        {flips.length === 0 ? (
          <p class="empty">No question flipped.</p>
        ) : (
          <Scrolls label="flips">
            <table>
              <thead>
                <tr>
                  <Th left>question</Th>
                  <Th left>became</Th>
                  <Th>{a}</Th>
                  <Th>{b}</Th>
                </tr>
              </thead>
              <tbody>
                {flips.map((flip) => (
                  <tr key={flip.question}>
                    <td class="wrap">
                      <a href={link('question', b, flip.question)}>{flip.question}</a>{' '}
                      <Hostile text={flip.text} max={160} />
                    </td>
                    <td class="l">
                      {flip.to === 'solved' ? (
                        <span class="good">✓ solved</span>
                      ) : (
                        <span class="bad">✗ failed</span>
                      )}
                    </td>
                    <td>
                      {flip.refA === null ? (
                        fixed(2)(flip.a)
                      ) : (
                        <a href={link('trajectory', a, flip.refA)}>{fixed(2)(flip.a)}</a>
                      )}
                    </td>
                    <td>
                      {flip.refB === null ? (
                        fixed(2)(flip.b)
                      ) : (
                        <a href={link('trajectory', b, flip.refB)}>{fixed(2)(flip.b)}</a>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scrolls>
        )}
      </section>
    </>
  );
}

function Figure({
  figure: { name, a, b, difference, interval },
}: {
  readonly figure: PairedFigure;
}) {
  const [called, metric] = names[name] ?? [name, name];
  const isShare = shares.includes(name);
  const show = isShare ? percent : significant(3);
  // Of shares in percentage points, as everywhere.
  const by = (one: number): string =>
    isShare ? signed(100 * one, fixed(1)) : signed(one, significant(3));
  const change = isShare ? `${by(difference)} points` : by(difference);
  const most = Math.max(Math.abs(interval.low), Math.abs(interval.high), 1e-9);
  const x = (at: number): number => 60 + (55 * at) / most;
  const sure = interval.low > 0 || interval.high < 0;
  return (
    <tr>
      <th scope="row">
        {called}
        <About name={`eval/${metric}`} />
      </th>
      <td>{show(a)}</td>
      <td>{show(b)}</td>
      <td>{sure ? <b>{change}</b> : change}</td>
      <td class="muted">
        {by(interval.low)} to {by(interval.high)}
      </td>
      <td class="l">
        <svg width="120" height="14" aria-hidden="true" class="interval">
          <line x1="60" y1="0" x2="60" y2="14" class="zero" />
          <line x1={x(interval.low)} y1="7" x2={x(interval.high)} y2="7" class="reach" />
          <circle cx={x(difference)} cy="7" r="3.5" />
        </svg>
      </td>
    </tr>
  );
}

function MetricsCard({
  data,
  a,
  b,
}: {
  readonly data: DiffData;
  readonly a: string;
  readonly b: string;
}) {
  return (
    <details class="card flush">
      <summary>Means of every metric by round</summary>
      <Scrolls label="metrics">
        <table>
          <thead>
            <tr>
              <Th left>metric</Th>
              <Th left>round</Th>
              <Th>{a}</Th>
              <Th>{b}</Th>
            </tr>
          </thead>
          <tbody>
            {data.metrics.slice(0, 500).map(({ name, round, roundName, a: one, b: other }) => (
              <tr key={`${name} ${round}`}>
                <th scope="row">
                  {name}
                  <About name={name} />
                </th>
                <td class="l">{roundName}</td>
                <td>{value(one)}</td>
                <td>{value(other)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
    </details>
  );
}
