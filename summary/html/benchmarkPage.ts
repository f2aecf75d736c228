/** An evaluation as one self-contained page: the table, the radar, and some trajectories, shown as text. */

import type { Benchmarks } from '../benchmarks/benchmarks.ts';
import type { BenchmarkSample } from '../benchmarks/samples.ts';
import { duration } from '../format/numbers.ts';
import { benchmarksNote, benchmarksTable, meansOf } from '../tables/benchmarks.ts';
import { cautionsOf, headOf } from '../text/benchmarkLines.ts';
import { behaviourRadar } from './behaviourRadar.ts';
import { type Html, html } from './html.ts';
import { muted, pageOf } from './page.ts';
import { sampleBox } from './sample.ts';
import { htmlTable } from './table.ts';

export function benchmarkPage(benchmarks: Benchmarks, samples: readonly BenchmarkSample[]): string {
  const { table, means } = benchmarksTable(benchmarks);
  const radar = behaviourRadar(
    'Behaviour, means over the rows',
    meansOf(benchmarks).filter(({ name }) => name !== 'all'),
  );
  const body = html`<header><h1>${benchmarks.run}</h1>
${muted(`${headOf(benchmarks)} · seed ${benchmarks.seed} · ${duration(benchmarks.seconds)}`)}
${cautionsOf(benchmarks).map((line) => html`<p class="bad">${line}</p>`)}</header>
<h2>Benchmarks</h2>${htmlTable(table, { quiet: means })}${muted(benchmarksNote(benchmarks))}
${radar === null ? null : html`<h2>Behaviour</h2>${radar}`}
<h2>Trajectories</h2>${samples.length === 0 ? muted('none yet') : samples.map(sample)}`;
  return pageOf({ title: `${benchmarks.run} – millrace evaluation`, body });
}

function sample(one: BenchmarkSample): Html {
  const { question, text, correct, toolCalls, finish, verdict, tools } = one;
  return sampleBox(question, '', [
    { label: '', right: correct, verdict, toolCalls, finish, facts: [], text, tools },
  ]);
}
