/**
 * One version of the weights: what it came from, what made it, its numbers, and the rollouts that it sampled.
 */
import { counted, thousands } from '../../../base/text/index.ts';
import { orDash, size } from '../../../summary/format/index.ts';
import type { ReplayData, WeightsData } from '../../wire/index.ts';
import { useKeys } from '../data/keyboard.ts';
import { at, go, linkAt } from '../data/place.ts';
import { recordLink } from '../data/recordLink.ts';
import { grownOf, useRun, useView } from '../data/useView.ts';
import { fixed, value } from '../logic/format.ts';
import { About } from '../parts/About.tsx';
import { Ago, Missing, Scrolls, Th } from '../parts/basics.tsx';
import { RolloutTable } from '../parts/RolloutTable.tsx';

export function Weights({ run, id }: { readonly run: string; readonly id: string }) {
  useRun(run);
  return id === '' ? <Versions run={run} /> : <Version run={run} version={id} />;
}

const rowsMax = 500;

function Versions({ run }: { readonly run: string }) {
  const answer = useView<ReplayData>({ page: 'replay', run, id: '' }, {}, grownOf('weights'));
  const { data } = answer;
  if (data === null) return <Missing answer={answer} />;
  const limit = at.value.startsWith('step:') ? Number(at.value.slice(5)) : Number.POSITIVE_INFINITY;
  const steps = data.steps.filter(({ step }) => step <= limit).reverse();
  return (
    <>
      <div class="page-head">
        <h1>Weights</h1>
        <p class="muted">Every version that the trainer published, newest first.</p>
      </div>
      <Scrolls label="versions" class="card flush">
        {steps.length === 0 ? (
          <div class="empty">
            <p>No weights yet: the first version comes with the first step.</p>
          </div>
        ) : (
          <table>
            <thead>
              <tr>
                <Th left>version</Th>
                <Th>step</Th>
                <Th>reward</Th>
                <Th left>digest</Th>
                <Th>made</Th>
              </tr>
            </thead>
            <tbody>
              {steps.slice(0, rowsMax).map((step) => (
                <tr key={step.ref}>
                  <th scope="row">
                    <a href={linkAt({ page: 'weights', run, id: String(step.version) })}>
                      {step.version}
                    </a>
                  </th>
                  <td>{step.step}</td>
                  <td>{orDash(step.reward, fixed(3))}</td>
                  <td class="l">
                    <code>{step.digest === null ? '–' : step.digest.slice(0, 12)}</code>
                  </td>
                  <td>
                    <Ago at={step.atMs} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Scrolls>
      {steps.length > rowsMax && (
        <p class="note">
          the newest {rowsMax} of {thousands(data.total)}
        </p>
      )}
    </>
  );
}

function Version({ run, version }: { readonly run: string; readonly version: string }) {
  const answer = useView<WeightsData>({ page: 'weights', run, id: version });
  const { data } = answer;
  const to = (other: number | null | undefined): void => {
    if (other !== null && other !== undefined)
      go(linkAt({ page: 'weights', run, id: String(other) }));
  };
  useKeys({ next: () => to(data?.after), previous: () => to(data?.before) });
  if (data === null) return <Missing answer={answer} />;
  const { batch, rollouts } = data;
  return (
    <>
      <div class="page-head">
        <h1>Version {data.version}</h1>
        <p class="muted">
          made by step {data.step}, <Ago at={data.atMs} />
        </p>
        <span class="grow" />
        <span class="button-row">
          <a class="button" href={linkAt({ page: 'weights', run, id: '' })}>
            all versions
          </a>
          <button type="button" disabled={data.before === null} onClick={() => to(data.before)}>
            ← {data.before === null ? 'none before' : `version ${data.before}`}
          </button>
          <button type="button" disabled={data.after === null} onClick={() => to(data.after)}>
            {data.after === null ? 'the newest' : `version ${data.after}`} →
          </button>
        </span>
      </div>
      <div class="grid two">
        <section class="card">
          <h2>Manifest</h2>
          <dl class="pair">
            <dt>parent</dt>
            <dd>
              {data.parent < 0 ? (
                'none: the first version'
              ) : (
                <a href={linkAt({ page: 'weights', run, id: String(data.parent) })}>
                  version {data.parent}
                </a>
              )}
            </dd>
            <dt>stored at</dt>
            <dd>
              <code>{data.uri}</code> <span class="muted num">{size(data.bytes)}</span>
              {data.file.kind === 'changed' && (
                <p class="bad">
                  ! Damaged: it {data.file.why}. Restore it from a backup, or go back to a version
                  whose file is intact.
                </p>
              )}
              {(data.file.kind === 'gone' || data.file.kind === 'unchecked') && (
                <p class="muted">{data.file.why}</p>
              )}
            </dd>
            <dt>digest</dt>
            <dd>
              <code>{data.digest ?? 'none'}</code>
            </dd>
            <dt>parent’s digest</dt>
            <dd>
              <code>{data.parentDigest ?? 'none'}</code>
            </dd>
            <dt>optimiser</dt>
            <dd>
              <code>{data.state === '' ? 'none' : data.state}</code>
            </dd>
            <dt>rounds finished</dt>
            <dd>{data.finished || 'none'}</dd>
            <dt>record</dt>
            <dd>
              <a href={recordLink(run, 'weights', data.ref)}>weights {data.ref}</a>
            </dd>
          </dl>
        </section>
        <section class="card">
          <h2>Numbers of its step</h2>
          {data.metrics.length === 0 ? (
            <p class="muted">None.</p>
          ) : (
            <dl class="pair numbers">
              {data.metrics.map(({ name, value: number }) => (
                <>
                  <dt>
                    <a href={linkAt({ page: 'metrics', run, id: '' }, { m: name })}>{name}</a>
                    <About name={name} />
                  </dt>
                  <dd class="num">{value(number)}</dd>
                </>
              ))}
            </dl>
          )}
        </section>
      </div>
      {batch !== null && (
        <section class="card">
          <h2>
            What it was trained on:{' '}
            <a href={recordLink(run, 'batches', batch.ref)}>batch of step {batch.step}</a>{' '}
            <span class="muted">{batch.roundName}</span>
          </h2>
          {batch.groups.length > 0 ? (
            <ul class="chips">
              {batch.groups.map(({ question, scored }) => (
                <li key={scored}>
                  <a class="chip" href={linkAt({ page: 'question', run, id: question })}>
                    {question}
                  </a>
                </li>
              ))}
            </ul>
          ) : (
            <p>{counted(batch.examples, 'example')}</p>
          )}
        </section>
      )}
      <section class="card flush">
        <div class="card-head">
          <h2>
            Rollouts sampled by it <span class="muted num">{thousands(rollouts.count)}</span>
          </h2>
          {rollouts.scanned < rollouts.of && (
            <span class="muted">
              among {thousands(rollouts.scanned)} of {thousands(rollouts.of)} searched
            </span>
          )}
        </div>
        {rollouts.first.length === 0 ? (
          <p class="empty">None{rollouts.scanned < rollouts.of ? ' found' : ''}.</p>
        ) : (
          <RolloutTable rollouts={rollouts.first} run={run} withQuestion />
        )}
      </section>
    </>
  );
}
