/**
 * A process of the search: goes through its seeds and reports each. A planted fault is in place before
 * anything of the product is loaded.
 */
import { register } from 'node:module';
import type { Mutant } from '../mutants/mutant.ts';
import type { Chosen } from './seeds.ts';

export interface Work {
  readonly seeds: readonly number[];
  readonly chosen: Chosen;
  readonly mutant: Pick<Mutant, 'file' | 'find' | 'replace'> | null;
  readonly shrink: boolean;
  /** Print what happens. */
  readonly story: boolean;
}

// The parent process is gone, so nobody wants the rest.
process.on('disconnect', () => process.exit());
const work = JSON.parse(process.argv[2]!) as Work;
if (work.mutant !== null) {
  register(new URL('../mutants/loader.js', import.meta.url), { data: work.mutant });
}
const { trySeed } = await import('./seeds.ts');
for (const seed of work.seeds) {
  const story = work.story ? { print: (line: string) => console.log(line) } : {};
  const found = await trySeed(seed, work.chosen, { shrink: work.shrink, ...story });
  await new Promise<void>((sent) => process.send!(found, () => sent()));
}
process.disconnect();
