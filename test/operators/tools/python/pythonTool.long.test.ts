/**
 * What a program gives, that calls do not see each other, and that the same program gives the same output.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { pythonTool } from '../../../../operators/tools/python/pythonTool.ts';
import { pythonContract } from './contract.ts';

const tool = pythonTool({ timeoutMs: 60_000, spares: 0 });
const other = pythonTool({
  ...{ timeoutMs: 60_000, outputMax: 10, printNone: true, memoryMaxMiB: 90, spares: 0 },
});
const signal = new AbortController().signal;

afterAll(async () => {
  await Promise.all([tool.close(), other.close()]);
});

function run(program: string) {
  return tool.run(program, signal);
}

pythonContract('in the sandbox', {
  tool: () => tool,
  short: () => other,
  another: () => pythonTool({ timeoutMs: 5000, spares: 0 }),
});

describe('a Python program', () => {
  it.each([
    [
      'sorted(dir())',
      "['__builtins__', '__doc__', '__loader__', '__name__', '__package__', '__spec__']",
    ],
  ])('%j gives %j', async (program, output) => {
    expect(await run(program)).toEqual({ output, ok: true });
  });

  it.each([
    ['import numpy', "ModuleNotFoundError: No module named 'numpy'"],
    ['x = "\\0"', 'SyntaxError: source code string cannot contain null bytes'],
  ])('%j fails with %j', async (program, output) => {
    const escaped = program.replace('\\0', '\0');
    expect(await run(escaped)).toEqual({ output, ok: false });
  });

  it('that breaks the interpreter harms only itself', async () => {
    const deep = 'import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()';
    expect((await run(deep)).ok).toBe(false);
    expect(await run('6 * 7')).toEqual({ output: '42', ok: true });
  });

  it.each([
    ['import os\nos.fork()', /^OSError: .* not implemented/],
    ['import subprocess\nsubprocess.run(["ls"])', /^OSError: /],
    ['import threading\nthreading.Thread(target=print).start()', /^RuntimeError: can't start/],
    ['import os\nos.abort()', /^PermissionError: /],
    ['print("x", flush=True)\nimport os\nos._exit(0)', /^PermissionError: /],
    ['import os\nos.mknod("/tmp/device")', /Error: /],
    ['('.repeat(5000), /^SyntaxError: too many nested/],
    ['eval("-" * 100_000 + "1")', /^MemoryError: Parser stack overflowed/],
    ['import builtins\nfor n in list(vars(builtins)): delattr(builtins, n)', /^NameError: /],
    ['import sys\nsys.stdout = None\nprint("x")', /^$/],
    ['import os\nos.write(2, b"\\0Forged: " + b"x" * 10**6)', /^Forged: x{992}\.\.\.$/],
    ['print("\\ud800")', /^UnicodeEncodeError: /],
    ['f = open("/tmp/a", "wb")\nwhile True: f.write(b"a" * 10**6)', /No space left on device$/],
    ['for i in range(10**5): open(f"/tmp/{i}", "w").close()', /^OSError: .*\/tmp\/\d+'$/],
    ['import ctypes\nctypes.string_at(0)', /^ModuleNotFoundError: /],
    ['import sys\nsys.setprofile(lambda *a: 1 / 0)\nlen([])', /^ZeroDivisionError: /],
    ['import sys\nsys.addaudithook(lambda *a: 1 / 0)\nopen("/tmp/x", "w")', /Error/],
    [
      'class E(Exception):\n  def __str__(self): raise E\nraise E',
      /^E: <exception str\(\) failed>$/,
    ],
    ['raise ExceptionGroup("g", [ValueError(1)])', /^ExceptionGroup: g \(1 sub-exception\)$/],
    [
      'import asyncio\nasync def f(): await asyncio.Event().wait()\nasyncio.run(f())',
      /^RuntimeError: the event loop waits/,
    ],
    ['import atexit\natexit.register(print, "late")\n1', /^1$/],
    ['[0] * 10**9', /^MemoryError$/],
  ])('that is hostile harms only itself: %j', async (program, output) => {
    expect((await run(program)).output).toMatch(output);
    expect(await run('6 * 7')).toEqual({ output: '42', ok: true });
  });

  it.each([
    ['zero bytes', 'print("\\0" * 10**6)', `${'\0'.repeat(10)}...`],
    ['an empty write, often', 'import os\nfor _ in range(10**5): os.write(1, b"")\n1', '1'],
  ])('may end in %s', async (_, program, output) => {
    expect((await other.run(program, signal)).output).toBe(output);
  });
});

describe('a call of the Python tool', () => {
  it.each([
    ['a global', 'leak = 1', 'print("leak" in globals())', 'False'],
    [
      'a changed module',
      'import math\nmath.pi = 3',
      'import math\nprint(math.pi)',
      '3.141592653589793',
    ],
    [
      'a changed class',
      'import json\njson.JSONEncoder.encode = None',
      'import json\nprint(json.dumps([1]))',
      '[1]',
    ],
    ['a changed builtin', 'import builtins\nbuiltins.len = lambda x: 9', 'print(len([]))', '0'],
    ['a removed builtin', 'import builtins\ndel builtins.sum', 'print(sum([1, 2]))', '3'],
    [
      'a module of its own',
      'import sys, types\nsys.modules["math"] = types.ModuleType("math")',
      'import math\nprint(math.sqrt(4))',
      '2.0',
    ],
    [
      'an environment variable',
      'import os\nos.environ["LEAK"] = "1"',
      'import os\nprint(os.environ.get("LEAK"))',
      'None',
    ],
    ['a file', 'open("/tmp/leak", "w").write("x")', 'import os\nprint(os.listdir("/tmp"))', '[]'],
    [
      'a folder',
      'import os\nos.makedirs("a/b/c"); os.chdir("a/b")',
      'import os\nprint(os.getcwd(), os.listdir("."))',
      '/home/pyodide []',
    ],
    [
      'an open file',
      'f = open("/tmp/x", "w")\nimport builtins; builtins.f = f',
      'import os\nprint(os.open("/dev/null", 0))',
      '3',
    ],
    ['a closed output', 'import sys, os\nos.close(1)', 'print("here")', 'here'],
    ['a replaced output', 'import sys, io\nsys.stdout = io.StringIO()', 'print("here")', 'here'],
    ['a trace function', 'import sys\nsys.settrace(lambda *a: 1 / 0)', 'print(len("abc"))', '3'],
    [
      'an import hook',
      'import sys\nsys.meta_path.clear()',
      'import colorsys\nprint(colorsys.__name__)',
      'colorsys',
    ],
    [
      'the state of random',
      'import random\nrandom.seed(5)',
      'import random\nprint(random.random())',
      '0.8444218515250481',
    ],
    [
      'a recursion limit',
      'import sys\nsys.setrecursionlimit(50)',
      'import sys\nprint(sys.getrecursionlimit())',
      '1000',
    ],
    [
      'an interned object',
      'import gc\nfor o in gc.get_objects():\n    if type(o) is dict: o.clear()',
      'print({"a": 1})',
      "{'a': 1}",
    ],
  ])('does not see %s of the previous call', async (_what, spoil, look, output) => {
    await run(spoil);
    expect(await run(look)).toEqual({ output, ok: true });
  });

  it('draws the same random numbers each time, even in another process', async () => {
    const draws = [
      'import random, os, uuid, secrets',
      'print(random.random(), os.urandom(2).hex(), uuid.uuid4().hex[:6], secrets.randbelow(100))',
      'print([open(f"/dev/{name}", "rb", 0).read(8).hex() for name in ("random", "urandom")])',
      'print(list({"b", "a", "c"}), hash("x"), id(object()) == id(object()))',
    ].join('\n');
    const first = await run(draws);
    expect(first.ok).toBe(true);
    expect(await run(draws)).toEqual(first);
    const wide = pythonTool({ timeoutMs: 60_000, spares: 0 });
    try {
      expect(await wide.run(draws, signal)).toEqual(first);
    } finally {
      await wide.close();
    }
  });

  it('has the same memory whatever ran before', async () => {
    const fill = [
      'blocks = []',
      'try:',
      '    while True: blocks.append(bytearray(2**18))',
      'except MemoryError: count = len(blocks)',
      'count',
    ].join('\n');
    const first = await other.run(fill, signal);
    expect(Number(first.output)).toBeGreaterThan(200);
    expect(await other.run('len(bytearray(2**24))', signal)).toEqual({
      output: '16777216',
      ok: true,
    });
    expect(await other.run(fill, signal)).toEqual(first);
  });
});

describe('the Python tool', () => {
  it.each([
    [{ timeoutMs: 0 }, /timeoutMs is 0/],
    [{ memoryMaxMiB: 10 }, /memoryMaxMiB is 10/],
    [{ outputMax: 1.5 }, /outputMax is 1.5/],
    [{ processes: 0 }, /processes is 0/],
    [{ spares: -1 }, /spares is -1/],
  ])('refuses the options %j', (options, message) => {
    expect(() => pythonTool(options)).toThrow(message);
  });

  it('runs one program for each of its processes at once, in order of arrival', async () => {
    const pair = pythonTool({ timeoutMs: 60_000, processes: 2, spares: 0 });
    try {
      const programs = Array.from({ length: 12 }, (_, i) => `print(${i} * 2)`);
      const results = await Promise.all(programs.map((program) => pair.run(program, signal)));
      expect(results.map(({ output }) => output)).toEqual(programs.map((_, i) => String(i * 2)));
      expect(pair.concurrencyMax).toBe(2);
    } finally {
      await pair.close();
    }
  });
});
