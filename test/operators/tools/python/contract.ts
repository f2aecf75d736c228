/** What the Python tool promises, whatever runs the programs. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Tool } from '../../../../operators/tools/tool.ts';

/** The tools that are tried. */
export interface Tools {
  /** A minute a program. */
  readonly tool: () => Tool;
  /** Ten characters a result, and a last None is printed. */
  readonly short: () => Tool;
  /** One that may be closed, with a few seconds a program. */
  readonly another: () => Tool;
}

const signal = new AbortController().signal;

export function pythonContract(where: string, { tool, short, another }: Tools): void {
  describe(`a program ${where}`, () => {
    beforeAll(async () => {
      await Promise.all([tool().run('1', signal), short().run('1', signal)]);
    });

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
      ['import sys; print(1); sys.stdout.close()', '1'],
      ['print(1)\nraise SystemExit(0)', '1'],
      ['print("\\U0001f600" * 3)', '😀😀😀'],
      ['"é 😀 \u200b".encode().hex()', 'c3a920f09f988020e2808b'],
      ['import sys; print("x", file=sys.stderr)', ''],
      ['import sys; sys.stdout.buffer.write(b"raw\\n"); print("text")', 'raw\ntext'],
      [
        'import asyncio\nasync def f():\n    await asyncio.sleep(0.001)\n    return 7\nasyncio.run(f())',
        '7',
      ],
      ['from fractions import Fraction\nFraction(1, 3) + Fraction(1, 6)', '1/2'],
      ['open("/tmp/millrace-a", "w").write("hi")\nopen("/tmp/millrace-a").read()', 'hi'],
      ['[name for name in dir() if not name.startswith("_")]', '[]'],
      ['import random\nrandom.random()', '0.8444218515250481'],
    ])('%j gives %j', async (program, output) => {
      expect(await tool().run(program, signal)).toEqual({ output, ok: true });
    });

    it.each([
      ['1 / 0', 'ZeroDivisionError: division by zero'],
      ['print("before")\nundefined_name', "NameError: name 'undefined_name' is not defined"],
      ['print("a"', "SyntaxError: '(' was never closed"],
      ['  44', 'IndentationError: unexpected indent'],
      ['raise ValueError("two\\nlines")', 'ValueError: two\nlines'],
      ['raise ValueError', 'ValueError'],
      ['import sys; sys.exit(3)', 'SystemExit: 3'],
      ['import os; os.close(1); print(1)', 'OSError: [Errno BAD] Bad file descriptor'],
      ['input()', 'EOFError: EOF when reading a line'],
      ['raise KeyboardInterrupt', 'KeyboardInterrupt'],
      ['import not_there', "ModuleNotFoundError: No module named 'not_there'"],
      [
        'import sys; sys.stderr.write("noise\\n" * 9)\n1 / 0',
        'ZeroDivisionError: division by zero',
      ],
    ])('%j fails with %j', async (program, output) => {
      const ended = await tool().run(program, signal);
      // Numbers of errors are the system's.
      const text = ended.output.replace(/Errno \d+/, 'Errno BAD');
      expect({ ...ended, output: text }).toEqual({ output, ok: false });
    });

    it('that recurses for ever fails', async () => {
      const { output, ok } = await tool().run('def f(): return f()\nf()', signal);
      expect(output).toMatch(/^RecursionError: maximum recursion depth exceeded/);
      expect(ok).toBe(false);
    });

    it.each([
      'import json\njson.loads("[" * 100_000)',
      'x = []\nfor _ in range(10**5): x = [x]\nrepr(x)',
      'x = []; y = []\nfor _ in range(10**5): x = [x]; y = [y]\nx == y',
    ])('that nests too deep for C fails: %j', async (program) => {
      const { output, ok } = await tool().run(program, signal);
      expect(output).toMatch(/^RecursionError: /);
      expect(ok).toBe(false);
    });

    it('is refused when it is too long', async () => {
      const { ok, output } = await tool().run(`x = "${'a'.repeat(100_000)}"`, signal);
      expect(ok).toBe(false);
      expect(output).toContain('longer than 100000');
    });

    it.each([
      ['print("\\U0001f600" * 11)', `${'😀'.repeat(10)}...`, true],
      ['print("é" * 10)', 'é'.repeat(10), true],
      ['raise ValueError("a" * 99)', 'ValueError...', false],
      ['raise ValueError("a" * 20_000_000)', 'ValueError...', false],
      ['raise SystemExit("a" * 20_000_000)', 'SystemExit...', false],
      ['"a" * 20_000_000', 'aaaaaaaaaa...', true],
      ['for _ in range(200): print("a" * 10**5)', 'aaaaaaaaaa...', true],
    ])('%j is cut at code points and shows that it was', async (program, output, ok) => {
      expect(await short().run(program, signal)).toEqual({ output, ok });
    });

    it('prints a last None only if asked to', async () => {
      expect(await short().run('[1].sort()', signal)).toEqual({ output: 'None', ok: true });
    });

    it('is ended with the reason when its signal aborts', async () => {
      const controller = new AbortController();
      const impatient = another();
      const call = impatient.run('while True: pass', controller.signal);
      controller.abort(new Error('enough'));
      await expect(call).rejects.toThrow('enough');
      await expect(impatient.run('1', controller.signal)).rejects.toThrow('enough');
      expect(await impatient.run('6 * 7', signal)).toEqual({ output: '42', ok: true });
      await impatient.close();
    });

    it('is refused after the tool was closed', async () => {
      const closed = another();
      await closed.close();
      await expect(closed.run('1', signal)).rejects.toThrow('closed');
    });
  });
}
