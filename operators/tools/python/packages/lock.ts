/** The packages of pyodide's own distribution, as its lock file names them: 357, with version, digest and what each needs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { MillraceError } from '../../../../base/errors.ts';
import { pyodideFolder } from '../launch.ts';

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** Of the distribution. */
  readonly file: string;
  readonly sha256: string;
  readonly depends: readonly string[];
  /** What a program imports. */
  readonly imports: readonly string[];
  /** It holds code for WebAssembly, which fits one version of pyodide. */
  readonly native: boolean;
}

const lockFile = z.object({
  info: z.object({ abi_version: z.string() }),
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
  return { version, packages: new Map(listed.map((one) => [normalName(one.name), one])) };
}

/** A package's name as Python compares names: `Foo_Bar` is `foo-bar`. */
export function normalName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}

/** These packages and all that they need, what is needed first. Throws code `USAGE` for a name that there is not. */
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
        `pyodide has no package ${given}; its distribution has ${packages.size}, such as sympy, mpmath, numpy, scipy, pandas, networkx`,
      );
    }
    for (const needed of one.depends) add(needed);
    found.set(name, one);
  };
  for (const name of names) add(name);
  return [...found.values()];
}
