/**
 * What a run has achieved: held-out accuracy in one large number, round by round, as curves, and in examples.
 * In a file it is the report, which the file holds in a shadow root with a style of its own.
 */
import { useCallback, useMemo } from 'preact/hooks';
import { counted } from '../../../base/text/index.ts';
import { orDash, percent } from '../../../summary/format/index.ts';
import type {
  Example,
  Headline,
  OverviewData,
  ResultsData,
  Shot,
  TextTable,
} from '../../wire/index.ts';
import { frozen, results } from '../data/frozen.ts';
import { linkAt } from '../data/place.ts';
import { grownOf, useRun, useView } from '../data/useView.ts';
import { fixed } from '../logic/format.ts';
import { About } from '../parts/About.tsx';
import { Hostile, Missing, Said, Scrolls, Th, textOf } from '../parts/basics.tsx';
import { Chart } from '../parts/Chart.tsx';

export function Results({ run }: { readonly run: string }) {
  useRun(run);
  return frozen === null ? <Live run={run} /> : <Report run={run} />;
}

function Report({ run }: { readonly run: string }) {
  useView<OverviewData>({ page: 'overview', run, id: '' }, {});
  // It leaves the document with the view, and comes back as it was left.
  const into = useCallback((here: Element | null) => here?.append(results!), []);
  return <div ref={into} />;
}

function Live({ run }: { readonly run: string }) {
  const answer = useView<ResultsData>(
    { page: 'results', run, id: '' },
    {},
    // The numbers of a step or of an evaluation.
    grownOf('metrics'),
  );
  const { data } = answer;
  const curves = useMemo(
    () =>
      (data?.curves ?? []).map(({ lines, ...curve }) => ({
        ...curve,
        lines: lines.map(({ name, ...line }) => ({ label: name, ...line })),
      })),
    [data],
  );
  if (data === null) return <Missing answer={answer} />;
  const { headline, examples, roundEnds } = data;
  return (
    <>
      <h1 class="unseen">{run}</h1>
      {headline === null ? (
        <section class="card">
          <h2>No result yet</h2>
          <p class="muted">
            It comes with the first measurement on held-out questions. Until then the{' '}
            <a href={linkAt({ page: 'overview', run, id: '' })}>overview</a> shows what is going on.
          </p>
        </section>
      ) : (
        <Accuracy of={headline} />
      )}
      {data.warnings.map((text) => (
        <p class="sentence bad" key={text}>
          <Said text={`${text}.`} />
        </p>
      ))}
      {curves.length > 0 && (
        <div class="grid two">
          {curves.map(({ title, metric, lines }) => (
            <Chart
              key={title}
              title={title}
              metric={metric}
              lines={lines}
              smoothing={0.6}
              marks={roundEnds.slice(1, -1)}
              small
            />
          ))}
        </div>
      )}
      {data.tables.map(({ title, table, notes }) => (
        <section class="card flush" key={title}>
          <h2>{title}</h2>
          <ShownTable table={table} label={title} about={data.about} />
          <p class="note padded">{notes.join('. ')}</p>
        </section>
      ))}
      {examples.length > 0 && <h2 class="page-title">Examples, before and after</h2>}
      {examples.map((example) => (
        <ExampleCard key={example.question} run={run} example={example} />
      ))}
    </>
  );
}

function Accuracy({ of }: { readonly of: Headline }) {
  const { accuracy, interval, before, change, direction, asked } = of;
  const range = (one: typeof interval) =>
    one !== null &&
    one.low < one.high && (
      <>
        {' '}
        <span class="num whole">
          (95 %: {(100 * one.low).toFixed(0)}–{(100 * one.high).toFixed(0)})
        </span>
      </>
    );
  const tone = direction === 'unsure' ? 'muted' : direction;
  return (
    <section class="card headline" aria-label="held-out accuracy">
      <b class="large num">{percent(accuracy)}</b>
      <p>
        <b>Held-out accuracy{before === null && ' before training'}</b>
        <About name="eval/accuracy" />
        {range(interval)}
        {before !== null && (
          <span class="num">
            , was <span class="whole">{percent(before.accuracy)}</span>
            {range(before.interval)}
          </span>
        )}
        {change !== '' && (
          <>
            <br />
            <span class={`num ${tone}`}>{change}</span>
            {direction === 'unsure' && <span class="muted">, may be chance</span>}
          </>
        )}
        <br />
        <span class="muted">{asked}</span>
      </p>
    </section>
  );
}

function ShownTable({
  table,
  label,
  about,
}: {
  readonly table: TextTable;
  readonly label: string;
  readonly about: ResultsData['about'];
}) {
  const named = (text: string) => (
    <>
      {text}
      {about[text] !== undefined && <About name={about[text]!} />}
    </>
  );
  const classOf = (column: number) => (table.columns[column]?.align === 'left' ? 'l' : undefined);
  return (
    <Scrolls label={label}>
      <table>
        <thead>
          <tr>
            {table.columns.map(({ label: name, align }, i) => (
              <Th key={i} left={align === 'left'}>
                {named(name || 'figure')}
              </Th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row) => (
            <tr key={row[0]}>
              {row.map((cell, i) =>
                i === 0 ? (
                  <th key={i} scope="row" class={classOf(i)}>
                    {named(cell)}
                  </th>
                ) : (
                  <td key={i} class={classOf(i)}>
                    {cell.replace(/^-/, '−')}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolls>
  );
}

function ExampleCard({ run, example }: { readonly run: string; readonly example: Example }) {
  const { why, question, text, answers, before, after } = example;
  return (
    <section class="card">
      <h3>
        <a href={linkAt({ page: 'question', run, id: question })}>
          <Hostile text={textOf(text).text} />
        </a>
      </h3>
      <p class="muted">
        {why} · expected <Hostile text={answers.join(' or ')} max={200} />
      </p>
      <div class="grid two example">
        <ShotCard run={run} when="before" shot={before} />
        <ShotCard run={run} when="after" shot={after} />
      </div>
    </section>
  );
}

function ShotCard({
  run,
  when,
  shot,
}: {
  readonly run: string;
  readonly when: string;
  readonly shot: Shot;
}) {
  const { text, part } = textOf(shot.text);
  return (
    <div>
      <p>
        <a href={linkAt({ page: 'trajectory', run, id: shot.ref })}>{when}</a>{' '}
        <b class={shot.correct ? 'good' : 'bad'}>{shot.correct ? '✓ right' : '✗ wrong'}</b>
        <span class="muted num">
          , {counted(shot.toolCalls, 'call')}, reward {orDash(shot.reward, fixed(2))}, version{' '}
          {shot.version}
          {part !== '' && `, ${part}`}
        </span>
      </p>
      <pre class="value" tabIndex={0}>
        <Hostile text={text} />
      </pre>
    </div>
  );
}
