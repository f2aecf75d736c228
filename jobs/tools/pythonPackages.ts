/**
 * The packages of a job's Python tool: those that the user has added (`millrace tools python add`), or some
 * of them.
 */
import { join } from 'node:path';
import { MillraceError } from '../../base/index.ts';
import type { NamedPackage } from '../../operators/tools/python/index.ts';
import {
  addedPackages,
  checkPackages,
  normalName,
  packagesFolder,
  pyodideLock,
} from '../../operators/tools/python/packages/index.ts';

/**
 * Each with its dependencies, in loading order. Throws `USAGE` for one that was not added (the message names
 * the setting), and `DAMAGED`.
 */
export async function pythonPackages(
  wanted: 'all' | readonly string[],
  setting = 'tools.packages',
): Promise<readonly NamedPackage[]> {
  const { version } = pyodideLock();
  const folder = packagesFolder(version);
  const added = await addedPackages(folder);
  const chosen = new Set<string>();
  const choose = (given: string): void => {
    const one = added.find(({ name }) => normalName(name) === normalName(given));
    if (one === undefined) {
      throw new MillraceError(
        'USAGE',
        `${setting}: ${given} is not installed; add it with: millrace tools python add ${given}`,
      );
    }
    if (chosen.has(one.name)) return;
    chosen.add(one.name);
    for (const needed of one.depends) choose(needed);
  };
  for (const name of wanted === 'all' ? added.map((one) => one.name) : wanted) choose(name);
  const used = added.filter(({ name }) => chosen.has(name));
  await checkPackages(folder, used);
  return used.map(({ name, file, native, imports }) => ({
    ...{ name, path: join(folder, file), native, imports },
  }));
}
