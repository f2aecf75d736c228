/** The report of a run as one self-contained page. */

import { counted } from '../../streams/doctor/counted.ts';
import { behaviourRadar } from './behaviourRadar.ts';
import type { Sample, Trajectory } from './collect.ts';
import { curves } from './curves.ts';
import { duration, type Figure, figures, shown } from './figures.ts';
import { type Html, html } from './html.ts';
import { phaseCell, phaseFigures, tellsPhases } from './phases.ts';
import { pageOf } from './shell.ts';
import type { Report, ReportInput } from './summary.ts';
import { highlighted } from './trajectory.ts';

export interface PageParts {
  readonly report: Report;
  readonly input: ReportInput;
  readonly samples: readonly Sample[];
}

export function reportPage({ report, input, samples }: PageParts): string {
  const { learning, stability } = curves(input, report);
  return pageOf(
    `${report.run} – millrace report`,
    html`${header(report, input)}
<h2>${report.before?.questions ?? ''} held-out questions, before and after</h2>${tiles(report)}
${tellsPhases(report) ? html`<h2>What each phase added</h2>${phases(report)}` : null}
<h2>Round by round</h2>${rounds(report)}
${behaviour(report)}
<h2>Learning</h2><div class="charts">${learning}</div>
<h2>Stability</h2><div class="charts">${stability}</div>
<h2>Trajectories, before and after</h2>${samples.length === 0 ? html`<p class="muted">none yet</p>` : samples.map(sample)}
<h2>Settings</h2>${settings(input)}`,
  );
}

function header(report: Report, { record }: ReportInput): Html {
  const { run, job, seed, status, seconds, deadLetters } = report;
  const started = new Date(record.starts[0]!.startedMs)
    .toISOString()
    .slice(0, 16)
    .replace('T', ' ');
  const resumed = record.starts.length - 1;
  const facts = [
    `job ${job}`,
    `seed ${seed}`,
    status + (record.reason === '' ? '' : `: ${record.reason}`),
    `started ${started} UTC`,
    `running for ${duration(seconds)}`,
    ...(resumed === 0 ? [] : [`resumed ${counted(resumed, 'time')}`]),
    ...(deadLetters === 0 ? [] : [counted(deadLetters, 'dead letter')]),
    `millrace ${record.millrace}`,
  ];
  return html`<header><h1>${run}</h1><p class="muted">${facts.join(' · ')}</p></header>`;
}

/** Figures that training may change. */
const measured = figures.filter(({ better }) => better !== 0);

function tiles({ before, after }: Report): Html {
  if (before === null) return html`<p class="muted">The first evaluation is not complete yet.</p>`;
  const boxes = measured.map((figure) => {
    const first = before[figure.key];
    const last = after?.[figure.key];
    return html`<div class="tile"><span>${figure.label}</span>
<strong>${shown(last ?? first, figure.show)}</strong>${last === undefined ? html`<span>before training</span>` : change(figure, first, last)}</div>`;
  });
  return html`<div class="tiles">${boxes}</div>`;
}

function change({ show, better }: Figure, before: number, after: number): Html {
  const gain = (after - before) * better;
  const verdict = gain > 0 ? 'good' : gain < 0 ? 'bad' : '';
  const arrow = after > before ? '▲' : after < before ? '▼' : '=';
  const word = gain > 0 ? 'better' : gain < 0 ? 'worse' : 'same';
  return html`<span class="${verdict}">${arrow} from ${show(before)}, ${word}</span>`;
}

function rounds(report: Report): Html {
  const cell = (text: string): Html => html`<td>${text}</td>`;
  const first = report.before;
  const rows = report.rounds.map(
    (round) => html`<tr>${cell(round.name)}${cell(String(round.steps))}
${cell(shown(round.reward, (value) => value.toFixed(3)))}${measured.map(({ key, show }) => cell(shown(round[key], show)))}
${cell(shown(round.seconds, duration))}</tr>`,
  );
  const before = html`<tr>${cell('before')}${cell('')}${cell('')}${measured.map(({ key, show }) => cell(shown(first?.[key], show)))}${cell('')}</tr>`;
  return html`<div class="scroll wide"><table><thead><tr><th>round</th><th>steps</th><th>reward</th>
${measured.map(({ label }) => html`<th>${label}</th>`)}<th>time</th></tr></thead>
<tbody>${before}${rows}</tbody></table></div>`;
}

function phases({ phases }: Report): Html {
  const rows = phases.map(
    (phase) =>
      html`<tr><td>${phase.name}</td>${phaseFigures.map((figure) => html`<td>${phaseCell(phase, figure)}</td>`)}</tr>`,
  );
  return html`<div class="scroll wide"><table><thead><tr><th>phase</th>${phaseFigures.map(({ label }) => html`<th>${label}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div><p class="muted">in brackets: the difference that the phase made</p>`;
}

function behaviour({ behaviour: { before, after } }: Report): Html | null {
  const series = [
    ...(before === null ? [] : [{ name: 'before', numbers: before }]),
    ...(after === null ? [] : [{ name: 'after', numbers: after }]),
  ];
  const chart = behaviourRadar('Tool use on held-out questions', series);
  return chart === null ? null : html`<h2>Behaviour</h2>${chart}`;
}

function sample({ why, question, before, after }: Sample): Html {
  return html`<div class="sample"><p><b>${question.question}</b></p>
<p class="muted">${why} · answer: ${question.answers.join(' or ')} · ${question.source}, ${question.id}</p>
<div class="pair">${trajectory('before', before)}${trajectory('after', after)}</div></div>`;
}

function trajectory(
  when: string,
  { correct, toolCalls, score, finish, text, version }: Trajectory,
): Html {
  const facts = `${toolCalls} tool calls, reward ${score.toFixed(2)}, ended by ${finish}, policy ${version}`;
  return html`<div><p class="chip">${when}: <b class="${correct ? 'good' : 'bad'}">${correct ? 'right' : 'wrong'}</b>, ${facts}</p>
<pre>${highlighted(text)}</pre></div>`;
}

function settings({ record }: ReportInput): Html {
  const rows = Object.entries(record.settings).map(
    ([key, value]) => html`<tr><td>${key}</td><td>${JSON.stringify(value) ?? ''}</td></tr>`,
  );
  return html`<table class="settings"><tbody>${rows}</tbody></table>`;
}
