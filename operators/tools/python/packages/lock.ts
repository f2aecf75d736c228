/**
 * The packages of pyodide's own distribution, from its lock file: 357, with version, digest and dependencies.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { MillraceError } from '../../../../base/index.ts';
import { pyodideFolder } from '../launch.ts';
import { furtherPackages } from './furtherPackages.ts';
import type { LockedPackage } from './lockedPackage.ts';

export type { LockedPackage };

const lockInfo = z.object({
  info: z.object({
    version: z.string().optional(),
    python: z.string(),
    /** Older ones have only the platform. */
    abi_version: z.string().optional(),
  }),
});

const lockFile = lockInfo.extend({
  packages: z.record(
    z.string(),
    z.object({
      name: z.string(),
      version: z.string(),
      file_name: z.string(),
      sha256: z.string(),
      depends: z.array(z.string()),
      imports: z.array(z.string()),
      package_type: z.string(),
    }),
  ),
});

export interface PyodideLock {
  /** Of pyodide. */
  readonly version: string;
  /** Those of the distribution, and `furtherPackages`. */
  readonly packages: ReadonlyMap<string, LockedPackage>;
}

export function pyodideLock(folder: string = pyodideFolder()): PyodideLock {
  const json = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const { version } = z.object({ version: z.string() }).parse(json('package.json'));
  const { packages } = lockFile.parse(json('pyodide-lock.json'));
  const listed = Object.values(packages).flatMap(
    ({ name, version: its, file_name: file, sha256, depends, imports, package_type: type }) =>
      type !== 'package' || !file.endsWith('.whl')
        ? []
        : [
            {
              ...{ name, version: its, file, sha256, imports },
              depends: depends.map(normalName),
              native: !file.endsWith('-none-any.whl'),
            },
          ],
  );
  const all = [...furtherPackages, ...listed];
  return { version, packages: new Map(all.map((one) => [normalName(one.name), one])) };
}

/**
 * The distribution that a lock file is for, as text, if it is not the installed pyodide's; null if it is, or
 * if the text is not a lock file. Native code of one does not run in another.
 */
export function otherDistribution(text: string, folder: string = pyodideFolder()): string | null {
  const its = infoOf(text);
  const own = infoOf(readFileSync(join(folder, 'pyodide-lock.json'), 'utf8'));
  if (its === null || own === null) return null;
  if (its.python === own.python && its.abi_version === own.abi_version) return null;
  const of = (version: string, python: string) => `pyodide ${version} (Python ${python})`;
  const installed = of(pyodideLock(folder).version, own.python);
  return `these files are built for ${of(its.version ?? 'of unknown version', its.python)}, but programs here run on ${installed}`;
}

function infoOf(text: string): z.infer<typeof lockInfo>['info'] | null {
  try {
    return lockInfo.parse(JSON.parse(text)).info;
  } catch {
    return null;
  }
}

/** A package's name as Python compares names: `Foo_Bar` is `foo-bar`. */
export function normalName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}

/** These packages and everything they need, dependencies first. Throws code `USAGE` for an unknown name. */
export function withNeeded(
  { packages }: Pick<PyodideLock, 'packages'>,
  names: readonly string[],
): readonly LockedPackage[] {
  const found = new Map<string, LockedPackage>();
  const add = (given: string): void => {
    const name = normalName(given);
    if (found.has(name)) return;
    const one = packages.get(name);
    if (one === undefined) {
      throw new MillraceError(
        'USAGE',
        `the sandbox has no package ${given}; it offers ${packages.size}, such as sympy, math-verify, numpy, scipy, pandas, networkx`,
      );
    }
    for (const needed of one.depends) add(needed);
    found.set(name, one);
  };
  for (const name of names) add(name);
  return [...found.values()];
}
