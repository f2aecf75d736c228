/**
 * What ToolPO's action term adds: `npx tsx examples/deepAgent/actionTerm.ts [--seeds 1,2,3] [--runs FOLDER]
 * [--set key=value]`.
 *
 * For each seed a run of the example with the term and one without it (`callWeight` and `foldWeight` 0), from
 * the same policy on the same questions. After every round both answer the same held-out questions. Prints
 * for each round the means over the seeds, and the mean of the differences seed by seed with Student's 95 %
 * interval. An existing run continues where it ended.
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { estimate, estimateText } from '../quickstart/estimate.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1,2,3' },
    runs: { type: 'string', default: 'runs' },
    job: { type: 'string', default: 'examples/deepAgent/job.ts' },
    set: { type: 'string', multiple: true, default: [] },
  },
});
const seeds = values.seeds.split(',').map(Number);
const folder = resolve(values.runs);

const forms = { with: [], without: ['callWeight=0', 'foldWeight=0'] } as const;
type Form = keyof typeof forms;
/** What is compared, by metric. */
const measured = {
  'right calls per response': 'eval/tools_right_mean',
  'share of right calls': 'eval/tools_right',
  accuracy: 'eval/accuracy',
} as const;
type Measured = keyof typeof measured;

/** A run's figures: `figures[name][round]`, from the policy before the first round on. */
type Figures = Readonly<Record<Measured, readonly number[]>>;

const runOf = (form: Form, seed: number): string => `action-term-${form}-${seed}`;

function finish(form: Form, seed: number): Promise<void> {
  const set = [...values.set, ...forms[form]].flatMap((one) => ['--set', one]);
  const named = ['--runs', folder, '--run', runOf(form, seed), '--seed', String(seed)];
  const child = spawn(
    process.execPath,
    ['dist/cli/main.js', 'run', values.job, ...named, ...set, '--quiet'],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('exit', (code) => {
      if (code === 0) done();
      else fail(new Error(`${runOf(form, seed)} exited with code ${code}`));
    });
  });
}

async function figuresOf(form: Form, seed: number): Promise<Figures> {
  const text = await readFile(join(folder, runOf(form, seed), 'metrics.jsonl'), 'utf8');
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { name: string; round: number; value: number });
  const of = (name: string): number[] =>
    lines
      .filter((line) => line.name === name)
      .sort((a, b) => a.round - b.round)
      .map(({ value }) => value);
  return Object.fromEntries(
    Object.entries(measured).map(([shown, name]) => [shown, of(name)]),
  ) as unknown as Figures;
}

const all: Record<Form, Figures[]> = { with: [], without: [] };
for (const seed of seeds) {
  for (const form of Object.keys(forms) as Form[]) {
    console.error(`seed ${seed}, ${form} the action term`);
    await finish(form, seed);
    all[form].push(await figuresOf(form, seed));
  }
}
const two = (value: number): string => value.toFixed(3);
for (const shown of Object.keys(measured) as Measured[]) {
  const rounds = all.with[0]![shown].length;
  const at = (form: Form, round: number): number[] => all[form].map((one) => one[shown][round]!);
  const rows = Array.from({ length: rounds }, (_, round) => {
    const [own, other] = [at('with', round), at('without', round)];
    const apart = own.map((value, i) => value - other[i]!);
    return {
      round,
      with: estimateText(estimate(own), two),
      without: estimateText(estimate(other), two),
      difference: estimateText(estimate(apart), two),
    };
  });
  console.log(`\n${shown}`);
  console.table(rows);
}
