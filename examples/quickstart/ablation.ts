/**
 * What each part of the method adds, in small: `npm run ablation`. The rows are those of ET-Agent's ablation
 * table.
 *
 * Each cell, a variant and a seed, is a run of the quickstart with one setting changed, one after another,
 * all variants of a seed before the next seed, in `runs/ablation-<variant>-<seed>`. A cell that is done is
 * read from its folder; one that was stopped goes on. Prints a table, of the cells that are done if it is
 * stopped: means over the seeds, with Student's 95 % intervals if there are two seeds or more. With
 * `--json` one JSON object is the last line of stdout.
 *
 * Options: --world small|hard (small), --seeds 1,2 (1), --only NAME,… (all), --json, --runs FOLDER (runs),
 * and --set key=value for all variants.
 */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Cell, cellsOf, evaluationsOf, keep, keptOf } from './ablationCells.ts';
import { ablationTable, type Outcome, type Row, variants } from './ablationTable.ts';
import { estimateText } from './estimate.ts';
import { worldNames } from './world/worlds.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: {
    world: { type: 'string', default: 'small' },
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
    `npm run ablation -- [--world small|hard] [--seeds 1,2] [--only NAME,…] [--set key=value] [--runs FOLDER] [--json]\n\n${variants
      .map(({ name, about }) => `${name.padEnd(14)}${about}`)
      .join('\n')}`,
  );
  process.exit(0);
}
const seeds = values.seeds.split(',').map(Number);
const only = values.only === '' ? null : values.only.split(',');
const unknown = only?.find((name) => !variants.some((variant) => variant.name === name));
const world = worldNames.find((name) => name === values.world);
if (unknown !== undefined) {
  refuse(`unknown variant ${unknown}; variants are ${variants.map(({ name }) => name).join(', ')}`);
}
if (seeds.some((seed) => !Number.isSafeInteger(seed))) {
  refuse(`--seeds takes whole numbers, comma-separated; given: ${values.seeds}`);
}
if (world === undefined) {
  refuse(`unknown world ${values.world}; worlds are ${worldNames.join(', ')}`);
}
const folder = resolve(values.runs);
const cells = cellsOf({ world, seeds, only, set: values.set });

function refuse(why: string): never {
  console.error(why);
  process.exit(2);
}

/** Runs a cell to its end, continuing where it was stopped. */
function finish({ run, args }: Cell): Promise<number> {
  const all = ['dist/cli/main.js', 'run', 'examples/quickstart/job.ts', '--runs', folder];
  const child = spawn(process.execPath, [...all, '--run', run, ...args], {
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

const minutes = (ms: number): string => `${Math.ceil(ms / 60_000)} min`;

/** The cells in order; ends early when one is stopped or fails. */
async function finishAll(): Promise<{ outcomes: Outcome[]; code: number }> {
  let stopped = false;
  process.on('SIGINT', () => {
    stopped = true;
  });
  const outcomes: Outcome[] = [];
  const open: Cell[] = [];
  for (const cell of cells) {
    const evaluations = await keptOf(folder, cell);
    if (evaluations === null) open.push(cell);
    else outcomes.push({ ...cell, evaluations });
  }
  const from = performance.now();
  for (const [done, cell] of open.entries()) {
    const spent = performance.now() - from;
    const left = minutes((spent / done) * (open.length - done));
    const soFar = done === 0 ? '' : `; ${minutes(spent)} so far, about ${left} left`;
    const number = cells.length - open.length + done + 1;
    console.error(`\n${number} of ${cells.length}: ${cell.name}, seed ${cell.seed}${soFar}`);
    const code = await finish(cell);
    if (stopped || code !== 0) return { outcomes, code: code === 0 ? 130 : code };
    const found = await evaluationsOf(folder, cell.run);
    await keep(folder, cell, found);
    outcomes.push({ ...cell, evaluations: found });
  }
  return { outcomes, code: 0 };
}

const percent = (value: number): string => (value * 100).toFixed(1);
const shown = ({ accuracy, efficiency, calls, difference, seeds: of }: Row) => ({
  'accuracy %': estimateText(accuracy, percent),
  'less the whole': difference === null ? '' : estimateText(difference, percent),
  'efficiency %': estimateText(efficiency, percent),
  'calls when right': estimateText(calls, (value) => value.toFixed(2)),
  seeds: of.join(' '),
});

const { outcomes, code } = await finishAll();
const rows = ablationTable(outcomes);
if (rows.length > 0) console.table(Object.fromEntries(rows.map((row) => [row.what, shown(row)])));
if (code !== 0) {
  console.error('stopped; repeat the command to resume');
  process.exit(code);
}
if (values.json) console.log(JSON.stringify({ name: 'ablation', world, seeds, rows }));
