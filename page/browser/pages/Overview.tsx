/** A run at a glance: what limits it, its mill, the six curves that matter, its topics. */
import { useEffect } from 'preact/hooks';
import { orDash, percent, rate } from '../../../summary/format/index.ts';
import type { Mill as MillData, OverviewData } from '../../wire/index.ts';
import { useLiveSeries } from '../data/liveSeries.ts';
import { at, linkAt } from '../data/place.ts';
import { listen, mill as liveMill } from '../data/stream.ts';
import { useView } from '../data/useView.ts';
import { milliseconds, short } from '../logic/format.ts';
import { lineOf } from '../logic/lineOf.ts';
import { colourOf } from '../logic/lines.ts';
import { bucketNote } from '../logic/series.ts';
import { narrow } from '../parts/appearance.ts';
import { Ago, Command, Hostile, Missing, Said, shownJson } from '../parts/basics.tsx';
import { Chart } from '../parts/Chart.tsx';
import { Admission } from '../parts/Control.tsx';
import { Mill, StageTable } from '../parts/Mill.tsx';
import { TopicTable } from '../parts/TopicTable.tsx';

const none: OverviewData['curves'] = [];

export function Overview({ run }: { readonly run: string }) {
  const pinned = at.value !== '';
  const answer = useView<OverviewData>({ page: 'overview', run, id: '' });
  const { data } = answer;
  const curves = useLiveSeries(data?.curves ?? none, 'step', !pinned);
  useEffect(() => {
    if (data === null) return;
    const names = [...data.curves.map(({ name }) => name), ...data.absent.map(({ name }) => name)];
    listen({ run, metrics: pinned ? [] : names, since: data.cursor });
  }, [data, pinned, run]);
  // A metric that was absent has come: its curve is in the data now.
  if (data === null) return <Missing answer={answer} />;
  const mill = !pinned && liveMill.value?.run === run ? liveMill.value : data.mill;
  // The banner above may have said it.
  const { stateText } = data.run;
  const isSaid = stateText !== '' && untimed(mill.health.text) === untimed(stateText);
  const live = !pinned && data.run.state === 'live';
  return (
    <>
      <h1 class="unseen">{run}</h1>
      {!isSaid && (
        <p class={`sentence ${mill.health.level === 'bad' ? 'bad' : ''}`}>
          {mill.health.level === 'bad' && <b aria-hidden="true">! </b>}
          <Said text={mill.health.text} />
        </p>
      )}
      {!narrow.value && <Mill mill={mill} run={run} />}
      <MillFacts mill={mill} run={run} />
      {curves.length > 0 && (
        <div class="grid three">
          {curves.map((series) => (
            <Chart
              key={series.name}
              title={series.name}
              lines={[lineOf(series)]}
              colours={[colourOf(run)]}
              broken={series.oddSteps}
              note={bucketNote([series])}
              href={linkAt({ page: 'metrics', run, id: '' }, { m: series.name })}
              small
            />
          ))}
        </div>
      )}
      {narrow.value && (
        <details class="card flush">
          <summary>What its stages do</summary>
          <Mill mill={mill} run={run} />
        </details>
      )}
      {data.absent.length > 0 && (
        <section class="card" aria-labelledby="absent-title">
          <h2 id="absent-title">Not measured</h2>
          <dl class="pair">
            {data.absent.map(({ name, why }) => (
              <>
                <dt>
                  <code>{name}</code>
                </dt>
                <dd>{why}</dd>
              </>
            ))}
          </dl>
        </section>
      )}
      <section class="card flush" aria-labelledby="topics-title">
        <h2 id="topics-title">Topics</h2>
        <TopicTable topics={mill.topics} run={run} live={live} />
      </section>
      {!pinned && (
        <details class="card flush">
          <summary>Stages as a table</summary>
          <StageTable mill={mill} run={run} />
        </details>
      )}
      {live && (
        <details class="card flush">
          <summary>Commands for this run</summary>
          <div class="padded">
            <Admission run={run} />
            <dl class="pair commands">
              {data.steering.map(({ about, command }) => (
                <>
                  <dt>{about}</dt>
                  <dd>
                    <Command text={command} />
                  </dd>
                </>
              ))}
            </dl>
          </div>
        </details>
      )}
      {data.settings.length > 0 && (
        <details class="card flush">
          <summary>Settings</summary>
          <dl class="pair mono-names padded">
            {data.settings.map(({ name, value, from }) => (
              <>
                <dt>{name}</dt>
                <dd>
                  <Hostile text={shownJson(value)} max={400} />
                  {from !== null && <span class="muted"> · {from}</span>}
                </dd>
              </>
            ))}
          </dl>
        </details>
      )}
    </>
  );
}

/** A sentence up to its first number: a time in it has gone on when the other is made. */
const untimed = (text: string): string => text.toLowerCase().replace(/\d.*|\.$/s, '');

function MillFacts({ mill, run }: { readonly mill: MillData; readonly run: string }) {
  const { weights, tools, selection, workers, tokensPerSecond } = mill;
  const living = workers.filter(({ ended }) => !ended);
  return (
    <ul class="facts card strip">
      {weights !== null && (
        <li>
          <span>weights</span>{' '}
          <b>
            <a href={linkAt({ page: 'weights', run, id: String(weights.version) })}>
              version {weights.version}
            </a>
          </b>{' '}
          <span>
            of step {weights.step}, <Ago at={weights.atMs} />
          </span>
        </li>
      )}
      {tokensPerSecond.trained !== null && (
        <li>
          <span>trained</span> <b>{short(tokensPerSecond.trained)}</b> <span>tokens/s</span>
        </li>
      )}
      {tools !== null && (
        <li>
          <span>tool calls</span> <b>{rate(tools.perSecond)}/s</b>{' '}
          <span>
            {percent(tools.failed)} failed, {percent(tools.cached, 0)} cached, 95 % within{' '}
            {orDash(tools.p95Ms, milliseconds)}
          </span>
        </li>
      )}
      {selection !== null && (
        <li>
          <span>selection keeps</span>{' '}
          <b>
            <a href={linkAt({ page: 'pareto', run, id: '' })}>
              {selection.kept} of {selection.judged}
            </a>
          </b>{' '}
          <span>groups</span>
        </li>
      )}
      {living.length > 0 && (
        <li>
          <b>{living.length === 1 ? '1 process' : `${living.length} processes`}</b>{' '}
          <span>on {[...new Set(living.map(({ host }) => host))].join(', ')}</span>
        </li>
      )}
    </ul>
  );
}
