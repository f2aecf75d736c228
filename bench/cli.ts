/**
 * What a command costs: `npm run bench:cli`.
 *
 * Processor time (user and system) of `millrace …` and of `node -e 0`, alternately, so that other load on the
 * machine hardly changes their ratio. The inspected run is a round of the quickstart. Needs a build.
 */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { benchmark, count } from './options.ts';
import { folderOnDisk, median, print, type Row } from './table.ts';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
/** What `node -e 0` took on the machine where the limits were set. */
const BARE_MS = 60;

/** The command lines, with their limits on that machine. */
const LINES: readonly (readonly [line: string, limitMs: number])[] = [
  ['--version', 150],
  ['--help', 150],
  ['topics first', 500],
  ['tap first.rollouts -n 3', 500],
  ['top first --once', 500],
  ['report first', 1500],
];

/** Makes Node report what it has used when it exits. */
const TELLING = 'process.on("exit",()=>process._rawDebug(JSON.stringify(process.cpuUsage())))';

/** Processor time of a node with these arguments, in milliseconds. */
function cpuMs(args: readonly string[], cwd: string): number {
  const telling = ['--import', `data:text/javascript,${TELLING}`, ...args];
  const { status, stderr } = spawnSync(process.execPath, telling, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`node ${args.join(' ')} failed: ${stderr}`);
  const { user, system } = JSON.parse(stderr.trim().split('\n').at(-1)!) as NodeJS.CpuUsage;
  return (user + system) / 1000;
}

function measured([line, limitMs]: (typeof LINES)[number], turns: number, folder: string): Row {
  const where = line.startsWith('-') ? [] : ['--runs', folder];
  const times = Array.from({ length: turns }, () => ({
    ours: cpuMs([MAIN, ...line.split(' '), ...where], folder),
    theirs: cpuMs(['-e', '0'], folder),
  }));
  const [ours, theirs] = [median(times.map((it) => it.ours)), median(times.map((it) => it.theirs))];
  return {
    what: `millrace ${line}`,
    against: 'node -e 0',
    ratio: ours / theirs,
    goal: limitMs / BARE_MS,
    atMost: true,
    unit: 'ms',
    ours,
    theirs,
  };
}

const { json, turns } = benchmark(
  'npm run bench:cli',
  `Processor time of commands beside that of a bare node. The ratio says how many times as much a command takes.`,
)
  .option('--turns <N>', 'times that each is measured', count, 5)
  .parse()
  .opts<{ json: boolean; turns: number }>();
const folder = resolve(folderOnDisk('cli'));
try {
  cpuMs(
    [MAIN, 'run', 'quickstart', '--run', 'first', '--runs', folder, '--set', 'rounds=1'],
    folder,
  );
  const rows = LINES.map((line) => measured(line, turns, folder));
  print('Commands', rows, json);
} finally {
  rmSync(folder, { recursive: true });
}
