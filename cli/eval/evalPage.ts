/** An evaluation as one self-contained page: the table, the radar, and some trajectories, shown as text. */
import { behaviourRadar } from '../report/behaviourRadar.ts';
import { duration } from '../report/figures.ts';
import { type Html, html } from '../report/html.ts';
import { pageOf } from '../report/shell.ts';
import { highlighted } from '../report/trajectory.ts';
import { cautionsOf, columnsOf, headOf, meansOf } from './columns.ts';
import type { EvalReport } from './evalReport.ts';
import type { EvalSample } from './evalSamples.ts';

export function evalPage(report: EvalReport, samples: readonly EvalSample[]): string {
  const radars = behaviourRadar(
    'Behaviour, means over the rows',
    meansOf(report).filter(({ name }) => name !== 'all'),
  );
  return pageOf(
    `${report.run} – millrace evaluation`,
    html`<header><h1>${report.run}</h1>
<p class="muted">${headOf(report)} · seed ${report.seed} · ${duration(report.seconds)}</p>
${cautionsOf(report).map((line) => html`<p class="bad">${line}</p>`)}</header>
<h2>Benchmarks</h2>${tableOf(report)}
<h2>Behaviour</h2>${radars ?? html`<p class="muted">not measured</p>`}
<h2>Trajectories</h2>${samples.length === 0 ? html`<p class="muted">none yet</p>` : samples.map(sample)}`,
  );
}

function tableOf(report: EvalReport): Html {
  const columns = columnsOf(report);
  const cell = (text: string): Html => html`<td>${text}</td>`;
  const rows = report.rows.map(
    (row) => html`<tr>${cell(row.source)}${columns.map(({ show }) => cell(show(row)))}</tr>`,
  );
  const means = meansOf(report).map(
    ({ name, numbers }) =>
      html`<tr class="mean">${cell(`mean of ${name}`)}${columns.map(({ mean }) => cell(mean(numbers)))}</tr>`,
  );
  const notes = columns
    .filter(({ about }) => about !== '')
    .map(({ label, about }) => `${label}: ${about}`)
    .join(' · ');
  return html`<div class="scroll wide"><table><thead><tr><th>benchmark</th>${columns.map(({ label }) => html`<th>${label}</th>`)}</tr></thead>
<tbody>${rows}${means}</tbody></table></div><p class="muted">${notes}</p>`;
}

function sample({ question, text, correct, toolCalls, finish, verdict }: EvalSample): Html {
  const facts = `${toolCalls} tool calls, ended by ${finish}`;
  return html`<div class="sample"><p><b>${question.question}</b></p>
<p class="muted">answer: ${question.answers.join(' or ')} · ${question.source}, ${question.id}</p>
<p class="chip"><b class="${correct ? 'good' : 'bad'}">${verdict}</b>, ${facts}</p>
<pre>${highlighted(text)}</pre></div>`;
}
