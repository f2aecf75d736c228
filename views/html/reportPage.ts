/** The summary of a run as one self-contained page. */
import { counted } from '../../streams/doctor/counted.ts';
import { duration, orDash, percent, significant } from '../numbers.ts';
import type { Curve, Curves } from '../summary/curves.ts';
import type { Evaluation, Results } from '../summary/results.ts';
import type { Sample, Trajectory } from '../summary/samples.ts';
import type { Summary } from '../summary/summary.ts';
import { differenceOf, type Figure, figureOf, trainedFigures } from '../tables/figures.ts';
import { phasesNote, phasesTable, roundsTable } from '../tables/results.ts';
import { stageColumns, stagesTable } from '../tables/stages.ts';
import { behaviourRadar } from './behaviourRadar.ts';
import { chart } from './chart.ts';
import { type Html, html } from './html.ts';
import { muted, pageOf } from './page.ts';
import { type ShownTrajectory, sampleBox } from './sample.ts';
import { htmlTable } from './table.ts';

export function reportPage(summary: Summary): string {
  const { results, curves, samples } = summary;
  return pageOf(
    `${results.run} – millrace report`,
    html`${header(summary)}
<h2>${results.before?.questions ?? ''} held-out questions, before and after</h2>${tiles(results)}
${phases(results)}
<h2>Round by round</h2>${htmlTable(roundsTable(results))}
${behaviour(results)}
<h2>Learning</h2>${charts(curves, 'learning')}
<h2>Stability</h2>${charts(curves, 'stability')}
${stages(summary)}
<h2>Trajectories, before and after</h2>${samples.length === 0 ? muted('none yet') : samples.map(sample)}
<h2>Settings</h2>${settings(summary)}`,
  );
}

function header({ facts: { starts, reason, millrace }, results }: Summary): Html {
  const { run, job, seed, status, seconds, deadLetters } = results;
  const started = new Date(starts[0]?.startedMs ?? 0).toISOString().slice(0, 16).replace('T', ' ');
  const resumed = starts.length - 1;
  const facts = [
    `job ${job}`,
    `seed ${seed}`,
    status + (reason === '' ? '' : `: ${reason}`),
    `started ${started} UTC`,
    `running for ${duration(seconds)}`,
    ...(resumed === 0 ? [] : [`resumed ${counted(resumed, 'time')}`]),
    ...(deadLetters === 0 ? [] : [counted(deadLetters, 'dead letter')]),
    `millrace ${millrace}`,
  ];
  return html`<header><h1>${run}</h1><p class="muted">${facts.join(' · ')}</p></header>`;
}

function tiles({ before, after }: Results): Html {
  if (before === null) return muted('The first evaluation is not complete yet.');
  const boxes = trainedFigures.map((figure) => {
    const shown = figureOf(after ?? before, figure);
    return html`<div class="tile"><span>${figure.label}</span>
<strong>${orDash(shown, figure.show)}</strong>${change(figure, before, after)}</div>`;
  });
  return html`<div class="tiles">${boxes}</div>`;
}

function change(figure: Figure, before: Evaluation, after: Evaluation | null): Html {
  if (after === null) return html`<span>before training</span>`;
  const from = `from ${orDash(figureOf(before, figure), figure.show)}`;
  const difference = differenceOf(before, after, figure);
  if (difference === null || difference === 0) return html`<span>${from}</span>`;
  const improved = difference > 0 === (figure.better === 'more');
  const arrow = difference > 0 ? '▲' : '▼';
  return html`<span class="${improved ? 'good' : 'bad'}">${arrow} ${figure.change(difference)}, ${improved ? 'better' : 'worse'}</span>
<span>${from}</span>`;
}

function phases(results: Results): Html | null {
  const table = phasesTable(results);
  if (table === null) return null;
  return html`<h2>What each phase changed</h2>${htmlTable(table)}${muted(phasesNote)}`;
}

function behaviour({ behaviour: { before, after } }: Results): Html | null {
  const series = [
    ...(before === null ? [] : [{ name: 'before', numbers: before }]),
    ...(after === null ? [] : [{ name: 'after', numbers: after }]),
  ];
  const drawn = behaviourRadar('Tool use on held-out questions', series);
  return drawn === null ? null : html`<h2>Behaviour</h2>${drawn}`;
}

function charts({ curves, roundEnds }: Curves, about: Curve['about']): Html {
  const drawn = curves
    .filter((curve) => curve.about === about)
    .map(({ title, series, unit, fromZero }) => {
      const show = unit === 'share' ? (value: number) => percent(value, 0) : significant(3);
      return chart({ title, series, show, fromZero, marks: roundEnds });
    });
  return html`<div class="charts">${drawn}</div>`;
}

function stages({ live }: Summary): Html | null {
  const table = stagesTable(live);
  if (table.rows.length === 0) return null;
  const notes = stageColumns.map(([label, about]) => `${label}: ${about}`).join(' · ');
  return html`<h2>Where the time went</h2>${htmlTable(table)}${muted(notes)}`;
}

function sample({ why, question, before, after }: Sample): Html {
  return sampleBox(question, why, [shown('before', before), shown('after', after)]);
}

function shown(label: string, trajectory: Trajectory): ShownTrajectory {
  const { correct, toolCalls, score, finish, text, version, tools } = trajectory;
  return {
    label,
    right: correct,
    verdict: correct ? 'right' : 'wrong',
    toolCalls,
    finish,
    facts: [`reward ${score.toFixed(2)}`, `policy version ${version}`],
    text,
    tools,
  };
}

function settings({ facts }: Summary): Html {
  const rows = Object.entries(facts.settings).map(
    ([key, value]) => html`<tr><td>${key}</td><td>${JSON.stringify(value) ?? ''}</td></tr>`,
  );
  return html`<table class="settings"><tbody>${rows}</tbody></table>`;
}
