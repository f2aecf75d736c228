/** The summary of a run as one self-contained page, or as a part of another one. */
import { counted } from '../../base/text/index.ts';
import type { Curve, Curves } from '../curves.ts';
import { percent, significant } from '../format/numbers.ts';
import type { Results } from '../results.ts';
import type { Sample, Trajectory } from '../samples.ts';
import type { Summary } from '../summary.ts';
import { changeIntervalText, changeOf, figures } from '../tables/figures.ts';
import { phaseLines, roundsNote, roundsTable, trainingTable } from '../tables/results.ts';
import { spentColumns, spentTable } from '../tables/spent.ts';
import { askedOf, headOf, trainedOf } from '../text/reportLines.ts';
import { chart } from './chart.ts';
import { figuresTable } from './figuresTable.ts';
import { type Html, html } from './html.ts';
import { muted, type Page, pageOf } from './page.ts';
import { type ShownTrajectory, sampleBox } from './sample.ts';
import { settingsTable } from './settingsTable.ts';
import { htmlTable } from './table.ts';

export function reportPage(summary: Summary): string {
  return pageOf(reportOf(summary));
}

/** It needs the style of `style.ts` around it, and no script. */
export function reportOf(summary: Summary): Page {
  const { results, curves, samples } = summary;
  const body = html`${header(summary)}
${measured(results)}
${charts(curves, 'learning', 'Learning')}
${charts(curves, 'stability', 'Stability')}
${samples.length === 0 ? null : html`<h2>Trajectories, before and after</h2>${samples.map(sample)}`}
${spent(summary)}
<h2>Settings</h2>${settingsTable(summary.facts)}`;
  return { title: `${results.run} – millrace report`, body };
}

function header({ facts: { starts, reason, millrace }, results }: Summary): Html {
  const { run, deadLetters, warnings } = results;
  const started = new Date(starts[0]?.startedMs ?? 0).toISOString().slice(0, 16).replace('T', ' ');
  const resumed = starts.length - 1;
  const facts = [
    headOf(results),
    `started ${started} UTC`,
    ...(resumed === 0 ? [] : [`resumed ${counted(resumed, 'time')}`]),
    ...(deadLetters === 0 ? [] : [counted(deadLetters, 'dead letter')]),
    `millrace ${millrace}`,
  ];
  return html`<header><h1>${run}</h1><p class="muted">${facts.join(' · ')}</p>
${trainedOf(results).map(muted)}${reason === '' ? null : html`<p class="bad">${reason}</p>`}
${warnings.map((text) => html`<p class="bad">${text}</p>`)}</header>`;
}

/** Results on held-out questions; without any, the outcome of training. */
function measured(results: Results): Html {
  if (results.before === null) {
    const training = trainingTable(results);
    return training === null
      ? muted('No results yet: the first evaluation is not complete.')
      : html`<h2>Training</h2>${htmlTable(training)}`;
  }
  const { rounds } = results;
  const course =
    rounds.length === 0
      ? null
      : html`<h2>Round by round</h2>${htmlTable(roundsTable(results))}
${[roundsNote, ...phaseLines(results)].map(muted)}`;
  return html`<h2>Held-out questions, before and after</h2>
${headline(results)}${figuresTable(results)}
${muted('small print: 95 % intervals over questions; a change is coloured if its interval excludes 0')}
${course}`;
}

/** The one number that readers want. */
function headline(results: Results): Html {
  const { before, after, change } = results;
  const [accuracy] = figures;
  const known = accuracy === undefined ? null : changeOf(change, accuracy);
  const shown = after ?? before;
  if (accuracy === undefined || shown === null) return muted(askedOf(results));
  const from = after === null ? null : html`${percent(before?.accuracy ?? 0)} → `;
  const sentence =
    known === null
      ? 'accuracy'
      : `accuracy, ${accuracy.change(known.difference)} (${changeIntervalText(known, accuracy)})`;
  return html`<p class="headline"><strong>${from}${percent(shown.accuracy)}</strong> <span>${sentence}<br><i>${askedOf(results)}</i></span></p>`;
}

/** Curves with something to show; those that did not change over the run are named below them. */
function charts(
  { curves, roundEnds, steps }: Curves,
  about: Curve['about'],
  heading: string,
): Html | null {
  const known = curves.filter((curve) => curve.about === about && valuesOf(curve).length > 0);
  const still = known.filter(isConstant);
  const moving = known.filter((curve) => !isConstant(curve));
  if (known.length === 0) return null;
  const showOf = ({ unit }: Curve) =>
    unit === 'share' ? (value: number) => percent(value, 0) : significant(3);
  const drawn = moving.map((curve) => {
    const { title, series, fromZero } = curve;
    return chart({ title, series, show: showOf(curve), steps, fromZero, marks: roundEnds });
  });
  const named = still.map((curve) => `${curve.title}: ${showOf(curve)(valuesOf(curve)[0]!)}`);
  return html`<h2>${heading}</h2><div class="charts">${drawn}</div>
${named.length === 0 ? null : muted(`did not change: ${named.join(' · ')}`)}
${about === 'learning' ? muted(`${roundEnds.length > 2 ? 'dashed: the end of a round; ' : ''}faint: each step; strong: the mean over the step and its neighbours`) : null}`;
}

function valuesOf({ series }: Curve): number[] {
  return series.flatMap(({ points }) => points.map(({ y }) => y)).filter(Number.isFinite);
}

/** A single step is not a trend yet, and a constant measurement is worth seeing: both are drawn. */
function isConstant(curve: Curve): boolean {
  if (curve.series.some(({ dots, points }) => dots === true && points.length > 0)) return false;
  const values = valuesOf(curve);
  return values.length > 1 && values.every((value) => value === values[0]);
}

function spent({ live }: Summary): Html | null {
  const table = spentTable(live);
  if (table.rows.length === 0) return null;
  const notes = spentColumns.map(([label, about]) => `${label}: ${about}`).join(' · ');
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
