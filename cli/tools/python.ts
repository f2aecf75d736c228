/**
 * What `millrace tools python` does: adds packages of pyodide's distribution to the user's cache, removes and
 * lists them.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Exchange } from '../../base/http/index.ts';
import { sleepClock } from '../../base/index.ts';
import { jsonText, table } from '../../base/terminal/index.ts';
import {
  type AddedPackage,
  addedPackages,
  type Compiler,
  digestOf,
  fetchWheel,
  keepPackage,
  normalName,
  packageCompiler,
  packagesFolder,
  pyodideLock,
  removePackages,
  withNeeded,
} from '../../operators/tools/python/packages/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { spinner } from '../progress/spinner.ts';

export interface AddOptions {
  readonly names: readonly string[];
  readonly from?: string;
  readonly index?: string;
}

const PYPI = 'https://pypi.org/simple';
const MEGABYTES_MAX = 200;

export async function pythonAdd({ names, from, index }: AddOptions, io: Io): Promise<number> {
  const lock = pyodideLock();
  const folder = packagesFolder(lock.version);
  const wanted = withNeeded(lock, names);
  const there = new Map((await addedPackages(folder)).map((one) => [one.name, one]));
  const named = new Set(names.map(normalName));
  const missing = wanted.filter(
    ({ name, version }) => named.has(normalName(name)) || there.get(name)?.version !== version,
  );
  const exchange = new Exchange({
    ...{ clock: sleepClock(io.clock), timeoutMs: 600_000, replyBytesMax: MEGABYTES_MAX * 2 ** 20 },
  });
  const { signal, release } = interruption(io, 'stopping; packages already added stay');
  const sources = {
    exchange,
    from: from === undefined || /^https?:\/\//.test(from) ? (from ?? null) : folderAt(io, from),
    index: index ?? process.env.PIP_INDEX_URL ?? PYPI,
    distribution: `https://cdn.jsdelivr.net/pyodide/v${lock.version}/full`,
  };
  const status = spinner(io);
  let compiler: Compiler | null = null;
  try {
    for (const one of missing) {
      const { name, version, native, imports, depends } = one;
      status.start(`${name} ${version}: fetching`);
      const { bytes, from: origin } = await fetchWheel(one, sources, signal);
      if (!native) {
        status.text = `${name} ${version}: compiling`;
        compiler ??= packageCompiler();
      }
      const kept = native ? bytes : await compiler!.archive(name, bytes);
      const added = {
        ...{ name, version, native, imports: [...imports], depends: [...depends] },
        file: native ? one.file : `${name}-${version}.zip`,
        wheel: { sha256: digestOf(bytes), from: origin },
      };
      await keepPackage(folder, added, kept);
      status.stop();
      io.err(`added ${name} ${version} (${(kept.length / 1e6).toFixed(1)} MB, from ${origin})`);
    }
    return exitCodes.done;
  } finally {
    status.stop();
    exchange.close();
    await compiler?.close();
    release();
  }
}

function folderAt(io: Io, given: string): string {
  const folder = resolve(io.cwd, given);
  if (existsSync(folder)) return folder;
  throw usageError(`--from: no folder ${given}; give a folder of wheels, or an address`);
}

export async function pythonList({ json }: { readonly json?: boolean }, io: Io): Promise<number> {
  const { version } = pyodideLock();
  const folder = packagesFolder(version);
  const packages = await addedPackages(folder);
  const rows = packages.map(({ name, version: its, native, wheel }: AddedPackage) => [
    ...[name, its, native ? 'native' : 'Python', wheel.from],
  ]);
  if (json === true) await io.out(`${jsonText({ pyodide: version, folder, packages })}\n`);
  else if (rows.length === 0)
    io.err(`no packages; add one with: ${io.program} tools python add sympy`);
  else
    await io.out(
      `${table([['package', 'version', 'kind', 'from'], ...rows], ['left', 'left', 'left', 'left'])}\n`,
    );
  return exitCodes.done;
}

export async function pythonRemove(names: readonly string[], io: Io): Promise<number> {
  const folder = packagesFolder(pyodideLock().version);
  const known = (await addedPackages(folder)).map(({ name }) => name);
  const absent = names.find((name) => !known.some((one) => normalName(one) === normalName(name)));
  if (absent !== undefined)
    throw usageError(
      `${absent} is not installed; installed packages: ${known.join(', ') || 'none'}`,
    );
  const gone = await removePackages(
    folder,
    known.filter((one) => names.some((name) => normalName(name) === normalName(one))),
  );
  io.err(`removed: ${gone.join(', ')}`);
  return exitCodes.done;
}
