/**
 * The cells of the ablation: which ones exist, what their runs measured, and what is kept of them when they
 * are done.
 */
import { readFileSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Evaluation, variants } from './ablationTable.ts';
import type { WorldName } from './world/worlds.ts';

/** One variant in the world of one seed. */
export interface Cell {
  readonly name: string;
  readonly seed: number;
  /** The name of its run. */
  readonly run: string;
  /** Its additional arguments. */
  readonly args: readonly string[];
  /** The settings file named in the arguments, with its present content. */
  readonly settings: string;
}

export interface CellsOptions {
  readonly world: WorldName;
  readonly seeds: readonly number[];
  /** Names of variants; null = all. */
  readonly only: readonly string[] | null;
  /** `key=value` for every cell. */
  readonly set: readonly string[];
}

const HARD = fileURLToPath(new URL('hard.yaml', import.meta.url));

/** Seed by seed, so that each finished seed gives a whole table. */
export function cellsOf({ world, seeds, only, set }: CellsOptions): readonly Cell[] {
  const isHard = world === 'hard';
  const settings = isHard ? readFileSync(HARD, 'utf8') : '';
  const chosen = variants.filter(({ name }) => only === null || only.includes(name));
  return seeds.flatMap((seed) =>
    chosen.map((variant) => ({
      name: variant.name,
      seed,
      run: `ablation-${isHard ? 'hard-' : ''}${variant.name}-${seed}`,
      args: [
        ...(isHard ? ['--settings', HARD] : []),
        ...['--seed', String(seed)],
        ...[...variant.settings, ...set].flatMap((setting) => ['--set', setting]),
      ],
      settings,
    })),
  );
}

/** The evaluations of a run in `folder`, round by round. */
export async function evaluationsOf(folder: string, run: string): Promise<Evaluation[]> {
  const text = await readFile(join(folder, run, 'metrics.jsonl'), 'utf8');
  const rounds = new Map<number, Record<string, number>>();
  for (const line of text.trim().split('\n')) {
    const metric = JSON.parse(line) as { name: string; round: number; value: number };
    if (!metric.name.startsWith('eval/')) continue;
    const round = rounds.get(metric.round) ?? {};
    round[metric.name] = metric.value;
    rounds.set(metric.round, round);
  }
  return [...rounds]
    .sort(([a], [b]) => a - b)
    .map(([, round]) => ({
      accuracy: round['eval/accuracy'] ?? Number.NaN,
      efficiency: round['eval/efficiency'] ?? Number.NaN,
      calls: round['eval/tools_mean_correct'] ?? Number.NaN,
    }));
}

/** A finished cell, as kept in its run's folder. */
interface Kept extends Pick<Cell, 'args' | 'settings'> {
  readonly evaluations: readonly Evaluation[];
}

const keptAt = (folder: string, { run }: Cell): string => join(folder, run, 'ablation.json');

/** The result of a cell with exactly these settings; null = it is not done. */
export async function keptOf(folder: string, cell: Cell): Promise<readonly Evaluation[] | null> {
  const text = await readFile(keptAt(folder, cell), 'utf8').catch(() => null);
  if (text === null) return null;
  const { args, settings, evaluations } = JSON.parse(text) as Kept;
  const same = settings === cell.settings && args.join('\n') === cell.args.join('\n');
  return same ? evaluations : null;
}

/** Keeps a finished cell, whole or not at all. */
export async function keep(
  folder: string,
  cell: Cell,
  evaluations: readonly Evaluation[],
): Promise<void> {
  const path = keptAt(folder, cell);
  const kept: Kept = { args: cell.args, settings: cell.settings, evaluations };
  await writeFile(`${path}.tmp`, `${JSON.stringify(kept)}\n`);
  await rename(`${path}.tmp`, path);
}
