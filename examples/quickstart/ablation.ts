/**
 * What each part of the method adds, in small: `npm run ablation`. The rows are those of ET-Agent's ablation table.
 *
 * Each variant is a run of the quickstart with one setting changed, on the same worlds, one after another, in
 * `runs/ablation-<variant>-<seed>`. A variant that is done is not run again; one that was stopped goes on. Prints a
 * table; with `--json` one JSON object as the last line of stdout.
 *
 * Options: --seeds 1,2 (1), --only NAME,… (all), --json, --runs FOLDER (runs), and --set key=value for all variants.
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ablationTable, type Evaluation, type Outcome, variants } from './ablationTable.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    runs: { type: 'string', default: 'runs' },
    set: { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(
    `npm run ablation -- [--seeds 1,2] [--only NAME,…] [--set key=value] [--runs FOLDER] [--json]\n\n${variants
      .map(({ name, about }) => `${name.padEnd(14)}${about}`)
      .join('\n')}`,
  );
  process.exit(0);
}
const seeds = values.seeds.split(',').map(Number);
const only = values.only === '' ? null : values.only.split(',');
const unknown = only?.find((name) => !variants.some((variant) => variant.name === name));
if (unknown !== undefined || seeds.some((seed) => !Number.isSafeInteger(seed))) {
  console.error(
    unknown === undefined
      ? `--seeds takes whole numbers with commas between; given: ${values.seeds}`
      : `there is no variant ${unknown}; there are ${variants.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}
const folder = resolve(values.runs);

/** Runs a variant to its end; a run that is done already ends at once. */
function run(name: string, seed: number, settings: readonly string[]): Promise<number> {
  const args = ['dist/cli/main.js', 'run', 'examples/quickstart/job.ts', '--runs', folder];
  args.push('--run', name, '--seed', String(seed));
  for (const setting of settings) args.push('--set', setting);
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const pass = (): void => void child.kill('SIGINT');
  process.on('SIGINT', pass);
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('exit', (code, signal) => {
      process.off('SIGINT', pass);
      done(signal === null ? (code ?? 1) : 130);
    });
  });
}

/** The evaluations of a run, stage by stage. */
async function evaluations(name: string): Promise<Evaluation[]> {
  const text = await readFile(join(folder, name, 'metrics.jsonl'), 'utf8');
  const stages = new Map<number, Record<string, number>>();
  for (const line of text.trim().split('\n')) {
    const metric = JSON.parse(line) as { name: string; stage: number; value: number };
    if (!metric.name.startsWith('eval/')) continue;
    const stage = stages.get(metric.stage) ?? {};
    stage[metric.name] = metric.value;
    stages.set(metric.stage, stage);
  }
  return [...stages]
    .sort(([a], [b]) => a - b)
    .map(([, stage]) => ({
      accuracy: stage['eval/accuracy'] ?? Number.NaN,
      efficiency: stage['eval/efficiency'] ?? Number.NaN,
      calls: stage['eval/tools_mean_correct'] ?? Number.NaN,
    }));
}

let stopped = false;
process.on('SIGINT', () => {
  stopped = true;
});
const outcomes: Outcome[] = [];
for (const { name, settings } of variants) {
  if (only !== null && !only.includes(name)) continue;
  for (const seed of seeds) {
    const runName = `ablation-${name}-${seed}`;
    console.error(`\n${name}, seed ${seed}`);
    const code = await run(runName, seed, [...settings, ...values.set]);
    if (stopped || code !== 0) {
      console.error('stopped; the same command goes on where this ended');
      process.exit(code === 0 ? 130 : code);
    }
    outcomes.push({ name, seed, evaluations: await evaluations(runName) });
  }
}
const rows = ablationTable(outcomes);
const percent = (value: number): string => (value * 100).toFixed(1);
console.table(
  Object.fromEntries(
    rows.map(({ what, accuracy, efficiency, calls, runs }) => [
      what,
      {
        'accuracy %': percent(accuracy),
        'efficiency %': percent(efficiency),
        'calls when right': calls.toFixed(2),
        runs,
      },
    ]),
  ),
);
if (values.json) console.log(JSON.stringify({ name: 'ablation', seeds, rows }));
