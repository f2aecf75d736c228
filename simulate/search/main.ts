/**
 * `npm run search`: the fault search. Runs the histories of many seeds, on all cores, and prints a table as
 * it goes; the first history that breaks a law is shrunk and printed with the command that repeats it, and
 * the exit code is 1. docs/simulate.md says more.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { systemClock } from '../../base/index.ts';
import { type FaultKind, faultKinds } from '../faults/fault.ts';
import { mutants } from '../mutants/mutants.ts';
import type { Chosen, Found } from './seeds.ts';
import type { Work } from './worker.ts';

const WORKER = fileURLToPath(new URL('./worker.js', import.meta.url));

const USAGE = `usage: npm run search -- [--seeds N] [--seed S] [--faults KIND,… | NUMBER,…] [--mutant NAME] [--all] [--story]
  --seeds N    how many histories (default 200; 1 with --seed)
  --seed S     the first seed (default 1)
  --faults     only faults of these kinds (${faultKinds.join(', ')}), or those of the seed with these numbers; none = none
  --mutant     with a planted fault: ${mutants.map(({ name }) => name).join(', ')}
  --all        go on after a history that fails
  --story      print what happens (with --seed)`;

interface Asked {
  readonly seeds: readonly number[];
  readonly chosen: Chosen;
  readonly mutant: string | null;
  readonly all: boolean;
  readonly story: boolean;
}

function asked(args: readonly string[]): Asked {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string' },
      seed: { type: 'string' },
      faults: { type: 'string' },
      mutant: { type: 'string' },
      all: { type: 'boolean', default: false },
      story: { type: 'boolean', default: false },
    },
  });
  const first = whole(values.seed ?? '1', '--seed');
  const count = whole(values.seeds ?? (values.seed === undefined ? '200' : '1'), '--seeds');
  const mutant = values.mutant ?? null;
  if (mutant !== null && !mutants.some(({ name }) => name === mutant)) {
    throw new Error(`there is no mutant ${mutant}`);
  }
  return {
    seeds: Array.from({ length: count }, (_, i) => first + i),
    chosen: chosenBy(values.faults),
    ...{ mutant, all: values.all, story: values.story },
  };
}

function whole(text: string, name: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new Error(`${name} takes a whole number, not ${JSON.stringify(text)}`);
}

function chosenBy(faults: string | undefined): Chosen {
  if (faults === undefined) return { kinds: faultKinds };
  if (faults === 'none') return { numbers: [] };
  const parts = faults.split(',');
  if (parts.every((part) => /^\d+$/.test(part))) return { numbers: parts.map(Number) };
  const unknown = parts.find((part) => !faultKinds.some((kind) => kind === part));
  if (unknown !== undefined) throw new Error(`there is no fault ${unknown}`);
  return { kinds: parts as FaultKind[] };
}

/** A line per this many histories. */
const LINE = 100;

class Table {
  readonly #startMs = systemClock.now();
  #histories = 0;
  #starts = 0;
  #versions = 0;
  #hours = 0;
  #failed = 0;

  constructor() {
    console.log('histories  failed   starts  versions  virtual hours  seconds');
  }

  add({ breaches, starts, versions, ms }: Found): void {
    this.#histories += 1;
    this.#starts += starts;
    this.#versions += Math.max(0, versions);
    this.#hours += ms / 3_600_000;
    if (breaches.length > 0) this.#failed += 1;
    if (this.#histories % LINE === 0) this.line();
  }

  line(): void {
    const seconds = (systemClock.now() - this.#startMs) / 1000;
    const cells = [
      String(this.#histories).padStart(9),
      String(this.#failed).padStart(7),
      String(this.#starts).padStart(8),
      String(this.#versions).padStart(9),
      this.#hours.toFixed(1).padStart(14),
      seconds.toFixed(1).padStart(8),
    ];
    console.log(cells.join(' '));
  }
}

function told({ seed, breaches, faults, kinds }: Found, mutant: string | null): void {
  const many = kinds.length === 0 ? 'without a fault' : `with ${kinds.join(', ')}`;
  console.log(`\nseed ${seed} breaks ${breaches.length === 1 ? 'a law' : 'laws'} ${many}:`);
  for (const breach of breaches.slice(0, 12)) console.log(`  ${breach}`);
  const which = faults.length === 0 ? 'none' : faults.join(',');
  const planted = mutant === null ? '' : ` --mutant ${mutant}`;
  console.log(`repeat it: npm run search -- --seed ${seed} --faults ${which}${planted} --story\n`);
}

/** Resolves with whether all histories kept the laws. */
async function search({ seeds, chosen, mutant, all, story }: Asked): Promise<boolean> {
  const table = new Table();
  const planted = mutants.find(({ name }) => name === mutant) ?? null;
  const count = Math.min(seeds.length, availableParallelism());
  let failed = false;
  const workers = Array.from({ length: count }, (_, i) => {
    const own = seeds.filter((_seed, at) => at % count === i);
    const work: Work = { seeds: own, chosen, mutant: planted, shrink: !story, story };
    return fork(WORKER, [JSON.stringify(work)], { stdio: 'inherit' });
  });
  const ends = workers.map(
    (worker) =>
      new Promise<void>((resolve, reject) => {
        worker.on('message', (message) => {
          const found = message as Found;
          if (failed && !all) return;
          table.add(found);
          if (found.breaches.length === 0) return;
          failed = true;
          told(found, mutant);
          if (!all) for (const each of workers) each.kill();
        });
        worker.on('exit', (code, signal) => {
          if (code === 0 || (failed && signal !== null)) resolve();
          else reject(new Error(`a process of the search ended with ${code ?? signal}`));
        });
      }),
  );
  await Promise.all(ends);
  table.line();
  return !failed;
}

try {
  const what = asked(process.argv.slice(2));
  process.exitCode = (await search(what)) ? 0 : 1;
} catch (error) {
  console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  process.exitCode = 2;
}
