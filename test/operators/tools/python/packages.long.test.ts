/**
 * Packages of the Python tool: found, checked, compiled, loaded, and gone when they are damaged. Real wheels
 * (sympy, and msgpack for native code) are taken from the folder MILLRACE_WHEELS.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../../base/clock.ts';
import { Exchange } from '../../../../base/http/exchange.ts';
import { sleepClock } from '../../../../base/sleepClock.ts';
import { pyodideFolder } from '../../../../operators/tools/python/launch.ts';
import {
  type Compiler,
  packageCompiler,
} from '../../../../operators/tools/python/packages/compile.ts';
import {
  type LockedPackage,
  otherDistribution,
  pyodideLock,
  withNeeded,
} from '../../../../operators/tools/python/packages/lock.ts';
import {
  addedPackages,
  checkPackages,
  digestOf,
  keepPackage,
  removePackages,
} from '../../../../operators/tools/python/packages/store.ts';
import { fetchWheel } from '../../../../operators/tools/python/packages/wheel.ts';
import { type NamedPackage, pythonTool } from '../../../../operators/tools/python/pythonTool.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { wheelOf } from '../../../support/wheel.ts';

const never = new AbortController().signal;
const wheel = wheelOf({
  'mill/__init__.py': 'from .wheel import turns\nstate = []\n',
  'mill/wheel.py': 'def turns(n):\n    return n * 2\n',
  'mill/late.py': 'WHEN = "only when it is asked for"\n',
  'mill/tests/broken.py': 'raise SystemExit\n',
  'mill-1.0.dist-info/METADATA': 'Name: mill\n',
});
const mill: LockedPackage = {
  ...{ name: 'mill', version: '1.0', file: 'mill-1.0-py3-none-any.whl', native: false },
  ...{ sha256: digestOf(wheel), depends: [], imports: ['mill'] },
};

const exchange = new Exchange({
  ...{ clock: sleepClock(systemClock), timeoutMs: 20_000, replyBytesMax: 1_000_000 },
});
let server: Server;
let address = '';
beforeAll(async () => {
  server = createServer((request, reply) => {
    if (request.url === '/simple/mill/') {
      const files = [
        { filename: 'mill-1.0.tar.gz', url: '../../nowhere' },
        // What an index says of its own files proves nothing.
        { filename: mill.file, url: `../../files/${mill.file}`, hashes: { sha256: mill.sha256 } },
      ];
      reply.end(JSON.stringify({ files }));
    } else if (request.url?.endsWith(mill.file)) reply.end(wheel);
    else reply.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
const folder = temporaryFolder();
afterAll(() => {
  server.close();
  exchange.close();
  folder.remove();
});

const sources = (from: string | null = null, digests = { [mill.file]: mill.sha256 }) => ({
  ...{ exchange, from, index: `${address}/simple`, distribution: `${address}/full`, digests },
});

describe('the lock file of the installed pyodide', () => {
  test('names packages with everything they need, dependencies first', () => {
    const lock = pyodideLock();
    const names = (given: readonly string[]) => withNeeded(lock, given).map(({ name }) => name);
    expect(names(['sympy'])).toEqual(['mpmath', 'sympy']);
    expect(names(['SciPy', 'numpy'])).toEqual(['numpy', 'scipy']);
    expect(withNeeded(lock, ['numpy'])[0]).toMatchObject({ native: true, imports: ['numpy'] });
    expect(() => names(['no-such-thing'])).toThrow(/the sandbox has no package no-such-thing/);
  });
});

describe('a wheel', () => {
  test('comes from the index, a mirror, or a folder', async () => {
    await writeFile(join(folder.path, mill.file), wheel);
    for (const from of [null, `${address}/mirror/`, folder.path]) {
      const found = await fetchWheel(mill, sources(from), never);
      expect(digestOf(found.bytes)).toBe(mill.sha256);
    }
    const native = { ...mill, native: true };
    expect((await fetchWheel(native, sources(), never)).from).toBe(`${address}/full`);
  });

  test('with another digest is refused, wherever it comes from', async () => {
    const other = { ...mill, sha256: '0'.repeat(64) };
    for (const from of [`${address}/mirror`, folder.path]) {
      await expect(fetchWheel(other, sources(from, {}), never)).rejects.toMatchObject({
        code: 'PACKAGE',
        message: expect.stringMatching(/has digest .*, but 0{64} is expected/),
      });
    }
    const listed = { [mill.file]: '1'.repeat(64) };
    const from = sources(null, listed);
    await expect(fetchWheel(mill, from, never)).rejects.toThrow(/but 1{64} is expected/);
    const unknown = fetchWheel(mill, sources(null, {}), never);
    await expect(unknown).rejects.toThrow(/mill-1.0-py3-none-any.whl is unknown, and an index/);
  });

  test('is not fetched over plain HTTP from another machine', async () => {
    const native = { ...mill, native: true };
    for (const one of [
      sources('http://mirror.test/full'),
      { ...sources(), index: 'http://i.test' },
    ])
      await expect(fetchWheel(one.from === null ? mill : native, one, never)).rejects.toThrow(
        /is not an https:\/\/ URL/,
      );
  });

  test.each([
    ['another version', { version: '2.0' }, 'has no pure-Python wheel of version 2.0'],
    ['a name that the index has not', { name: 'other' }, '/simple/other/ answers 404'],
  ])('with %s is reported as absent', async (_, change, message) => {
    await expect(fetchWheel({ ...mill, ...change }, sources(), never)).rejects.toThrow(message);
  });

  test('that a folder lacks is named', async () => {
    const other = { ...mill, file: 'absent.whl' };
    await expect(fetchWheel(other, sources(folder.path), never)).rejects.toThrow(
      `there is no absent.whl in ${folder.path}`,
    );
  });
});

describe('files of another pyodide', () => {
  const own = readFileSync(join(pyodideFolder(), 'pyodide-lock.json'), 'utf8');
  const older = JSON.stringify({
    info: { arch: 'wasm32', platform: 'emscripten_3_1_46', python: '3.11.3', version: '0.25.1' },
    packages: {},
  });

  test('are distinguished from those of the installed one', () => {
    expect(otherDistribution(own)).toBeNull();
    expect(otherDistribution('no lock')).toBeNull();
    expect(otherDistribution(older)).toMatch(
      /^these files are built for pyodide 0\.25\.1 \(Python 3\.11\.3\), but programs here run on pyodide 314\.\S+ \(Python 3\.14\.\d+\)/,
    );
    const { info } = JSON.parse(own) as { readonly info: object };
    const next = JSON.stringify({ info: { ...info, abi_version: '2027_0' }, packages: {} });
    expect(otherDistribution(next)).toMatch(
      /^these files are built for pyodide of unknown version/,
    );
  });

  test('are named as the reason if they lack a package', async () => {
    const place = join(folder.path, 'older');
    await mkdir(place);
    await writeFile(join(place, 'pyodide-lock.json'), older);
    const numpy = withNeeded(pyodideLock(), ['numpy'])[0]!;
    await expect(fetchWheel(numpy, sources(place), never)).rejects.toMatchObject({
      code: 'PACKAGE',
      message: expect.stringContaining('these files are built for pyodide 0.25.1 (Python 3.11.3)'),
    });
  });
});

const compilers: Compiler[] = [];
afterEach(async () => {
  for (const compiler of compilers.splice(0)) await compiler.close();
});
function open(): Compiler {
  const compiler = packageCompiler();
  compilers.push(compiler);
  return compiler;
}

/** Adds it to the store, and gives it as the tool takes it. */
async function added(one: LockedPackage, bytes: Uint8Array): Promise<NamedPackage> {
  const { name, version, native, imports, depends } = one;
  const file = native ? one.file : `${name}-${version}.zip`;
  const whole = { name, version, native, imports: [...imports], depends: [...depends], file };
  await keepPackage(folder.path, { ...whole, wheel: { sha256: 'w', from: 'f' } }, bytes);
  return { name, path: join(folder.path, file), native, imports };
}

describe('a package in the sandbox', () => {
  test('is loaded before a call, and each call begins with it unchanged', async () => {
    const compiler = open();
    const archive = await compiler.archive('mill', wheel);
    expect(Buffer.compare(archive, await compiler.archive('mill', wheel))).toBe(0);
    const tool = pythonTool({
      packages: [await added(mill, archive)],
      timeoutMs: 20_000,
      spares: 0,
    });
    try {
      expect(tool.about).toMatch(/ It has mill\.$/);
      const out = async (program: string) => (await tool.run(program, never)).output;
      expect(await out('import mill\nmill.state.append(1)\nprint(mill.turns(21))')).toBe('42');
      expect(await out('import sys\n"mill" in sys.modules')).toBe('True');
      expect(await out('import mill\nmill.state')).toBe('[]');
      expect(await out('from mill.late import WHEN\nWHEN')).toBe('only when it is asked for');
      expect(await out('import mill.tests.broken')).toContain('ModuleNotFoundError');
      expect(await out(`open(${JSON.stringify(folder.path)})`)).toMatch(/^FileNotFoundError/);
    } finally {
      await tool.close();
    }
  });

  test('is reported if it cannot be compiled or is damaged', async () => {
    const compiler = open();
    await expect(compiler.archive('bad', Buffer.from('no zip'))).rejects.toThrow(
      /bad cannot be compiled: .*zip/,
    );
    await added(mill, await compiler.archive('mill', wheel));
    const all = await addedPackages(folder.path);
    await checkPackages(folder.path, all);
    const path = join(folder.path, 'mill-1.0.zip');
    const bytes = await readFile(path);
    bytes[100]! ^= 1;
    await writeFile(path, bytes);
    await expect(checkPackages(folder.path, all)).rejects.toMatchObject({ code: 'DAMAGED' });
    expect(await removePackages(folder.path, ['mill'])).toEqual(['mill']);
    expect([await addedPackages(folder.path), existsSync(path)]).toEqual([[], false]);
  });
});

const wheels = process.env.MILLRACE_WHEELS ?? '';
const real = wheels === '' ? [] : readdirSync(wheels);
const without = 'MILLRACE_WHEELS, a folder with wheels of sympy, mpmath and msgpack, is not set';

(wheels === '' ? describe.skip : describe)(wheels === '' ? without : 'real wheels', () => {
  test('sympy solves and integrates; native code runs', async () => {
    const compiler = open();
    const packages: NamedPackage[] = [];
    for (const name of ['mpmath', 'sympy', 'msgpack']) {
      const file = real.find((one) => one.startsWith(`${name}-`))!;
      const native = !file.endsWith('-none-any.whl');
      const bytes = await readFile(join(wheels, file));
      const one = { ...mill, name, file, native, imports: [name] };
      packages.push(await added(one, native ? bytes : await compiler.archive(name, bytes)));
    }
    const tool = pythonTool({ packages, timeoutMs: 120_000, spares: 0 });
    try {
      const out = async (program: string) => (await tool.run(program, never)).output;
      expect(await out('from sympy import *\nx = symbols("x")\nintegrate(x * cos(x), x)')).toBe(
        'x*sin(x) + cos(x)',
      );
      expect(await out('from sympy import *\nx = symbols("x")\nsolve(x**2 - 5*x + 6, x)')).toBe(
        '[2, 3]',
      );
      expect(await out('import msgpack\nmsgpack.unpackb(msgpack.packb([1, "a"]))')).toBe(
        "[1, 'a']",
      );
      expect(await out('from msgpack import _cmsgpack\n_cmsgpack.__name__')).toBe(
        'msgpack._cmsgpack',
      );
    } finally {
      await tool.close();
    }
  });
});

const distribution = process.env.MILLRACE_PYODIDE ?? '';
const noDistribution =
  'MILLRACE_PYODIDE, a folder with the files of the whole distribution of the installed pyodide, is not set';

(distribution === '' ? describe.skip : describe)(
  distribution === '' ? noDistribution : 'the whole distribution',
  () => {
    test('numpy, scipy and pandas compute', async () => {
      const compiler = open();
      const packages: NamedPackage[] = [];
      const wanted = withNeeded(pyodideLock(), ['numpy', 'scipy', 'pandas']);
      for (const one of wanted) {
        const { bytes } = await fetchWheel(one, sources(distribution), never);
        packages.push(
          await added(one, one.native ? bytes : await compiler.archive(one.name, bytes)),
        );
      }
      const limits = { timeoutMs: 120_000, memoryMaxMiB: 1024, spares: 0 };
      const tool = pythonTool({ packages, ...limits });
      try {
        const out = async (program: string) => (await tool.run(program, never)).output;
        expect(await out('import numpy as np\nnp.linalg.solve([[2, 1], [1, 3]], [3, 5])')).toBe(
          '[0.8 1.4]',
        );
        expect(
          await out(
            'from scipy.optimize import brentq\nround(brentq(lambda x: x * x - 2, 0, 2), 6)',
          ),
        ).toBe('1.414214');
        expect(await out('import pandas as pd\nint(pd.DataFrame({"a": [1, 2]}).a.sum())')).toBe(
          '3',
        );
      } finally {
        await tool.close();
      }
    }, 600_000);
  },
);
