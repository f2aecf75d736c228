/**
 * What a program gives, that calls do not see each other, and that the same program gives the same output.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { pythonTool } from '../../../../operators/tools/python/pythonTool.ts';

const tool = pythonTool({ timeoutMs: 5000 });
const other = pythonTool({ timeoutMs: 5000, outputMax: 10, printNone: true, memoryMaxMiB: 90 });
const signal = new AbortController().signal;

afterAll(async () => {
  await Promise.all([tool.close(), other.close()]);
});

function run(program: string) {
  return tool.run(program, signal);
}

describe('a program', () => {
  it.each([
    ['print(47 * 86)', '4042'],
    ['2 + 3', '5'],
    ['x = 3\nx ** 2  # a note', '9'],
    ["'a' 'b'", 'ab'],
    ['print("a", end="")\n44', 'a44'],
    ['print\n', '<built-in function print>'],
    ['[3, 1].sort()', ''],
    ['print(None)', 'None'],
    ['for i in range(3): print(i)', '0\n1\n2'],
    ['def f(): pass', ''],
    ['', ''],
    ['if __name__ == "__main__": print(__name__)', '__main__'],
    ['exit()', ''],
    ['print(1)\nraise SystemExit(0)', '1'],
    ['print("\\U0001f600" * 3)', '😀😀😀'],
    ['import sys; print("x", file=sys.stderr)', ''],
    [
      'import asyncio\nasync def f():\n    await asyncio.sleep(0.001)\n    return 7\nasyncio.run(f())',
      '7',
    ],
    ['from fractions import Fraction\nFraction(1, 3) + Fraction(1, 6)', '1/2'],
    ['open("/tmp/a", "w").write("hi")\nopen("/tmp/a").read()', 'hi'],
    [
      'sorted(dir())',
      "['__builtins__', '__doc__', '__loader__', '__name__', '__package__', '__spec__']",
    ],
  ])('%j gives %j', async (program, output) => {
    expect(await run(program)).toEqual({ output, ok: true });
  });

  it.each([
    ['1 / 0', 'ZeroDivisionError: division by zero'],
    ['print("before")\nundefined_name', "NameError: name 'undefined_name' is not defined"],
    ['print("a"', "SyntaxError: '(' was never closed"],
    ['  44', 'IndentationError: unexpected indent'],
    ['raise ValueError("two\\nlines")', 'ValueError: two\nlines'],
    ['raise ValueError', 'ValueError'],
    ['import sys; sys.exit(3)', 'SystemExit: 3'],
    ['import numpy', "ModuleNotFoundError: No module named 'numpy'"],
    ['input()', 'EOFError: EOF when reading a line'],
    ['def f(): return f()\nf()', 'RecursionError: maximum recursion depth exceeded'],
    ['x = "\\0"', 'SyntaxError: source code string cannot contain null bytes'],
    ['raise KeyboardInterrupt', 'KeyboardInterrupt'],
  ])('%j fails with %j', async (program, output) => {
    const escaped = program.replace('\\0', '\0');
    expect(await run(escaped)).toEqual({ output, ok: false });
  });

  it('is refused when it is too long', async () => {
    const { ok, output } = await run(`x = "${'a'.repeat(100_000)}"`);
    expect(ok).toBe(false);
    expect(output).toContain('longer than 100000');
  });

  it('that breaks the interpreter costs only itself', async () => {
    const deep = 'import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()';
    expect((await run(deep)).ok).toBe(false);
    expect(await run('6 * 7')).toEqual({ output: '42', ok: true });
  });

  it('is cut at code points and shows that it was', async () => {
    expect(await other.run('print("\\U0001f600" * 11)', signal)).toEqual({
      output: `${'😀'.repeat(10)}...`,
      ok: true,
    });
    expect(await other.run('print("é" * 10)', signal)).toEqual({
      output: 'é'.repeat(10),
      ok: true,
    });
    expect(await other.run('print("a" * 10**6)', signal)).toEqual({
      output: 'aaaaaaaaaa...',
      ok: true,
    });
    expect(await other.run('raise ValueError("a" * 99)', signal)).toEqual({
      output: 'ValueError...',
      ok: false,
    });
  });

  it('prints a last None only when it is asked to', async () => {
    expect(await other.run('[1].sort()', signal)).toEqual({ output: 'None', ok: true });
  });
});

describe('a call', () => {
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
  ])('does not see %s of the call before', async (_what, spoil, look, output) => {
    await run(spoil);
    expect(await run(look)).toEqual({ output, ok: true });
  });

  it('draws the same numbers each time, in another process too', async () => {
    const draws = [
      'import random, os, uuid, secrets',
      'print(random.random(), os.urandom(2).hex(), uuid.uuid4().hex[:6], secrets.randbelow(100))',
      'print(list({"b", "a", "c"}), hash("x"), id(object()) == id(object()))',
    ].join('\n');
    const first = await run(draws);
    expect(first.ok).toBe(true);
    expect(await run(draws)).toEqual(first);
    const wide = pythonTool({ timeoutMs: 5000 });
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

  it('rejects with the reason of its signal, and the tool goes on', async () => {
    const controller = new AbortController();
    const call = tool.run('while True: pass', controller.signal);
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await expect(tool.run('1', controller.signal)).rejects.toThrow('enough');
    expect(await run('6 * 7')).toEqual({ output: '42', ok: true });
  });
});

describe('the tool', () => {
  it.each([
    [{ timeoutMs: 0 }, /timeoutMs is 0/],
    [{ memoryMaxMiB: 10 }, /memoryMaxMiB is 10/],
    [{ outputMax: 1.5 }, /outputMax is 1.5/],
    [{ processes: 0 }, /processes is 0/],
  ])('refuses the options %j', (options, message) => {
    expect(() => pythonTool(options)).toThrow(message);
  });

  it('runs as many programs at once as it has processes, in order of arrival', async () => {
    const pair = pythonTool({ timeoutMs: 5000, processes: 2 });
    try {
      const programs = Array.from({ length: 12 }, (_, i) => `print(${i} * 2)`);
      const results = await Promise.all(programs.map((program) => pair.run(program, signal)));
      expect(results.map(({ output }) => output)).toEqual(programs.map((_, i) => String(i * 2)));
      expect(pair.concurrencyMax).toBe(2);
    } finally {
      await pair.close();
    }
  });

  it('refuses a call after it was closed', async () => {
    const closed = pythonTool();
    await closed.close();
    await expect(closed.run('1', signal)).rejects.toThrow('closed');
  });
});
