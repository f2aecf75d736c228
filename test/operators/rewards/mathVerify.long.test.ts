/**
 * math-verify in the sandbox beside math-verify in Python, on 200 pairs of answers. Needs its wheels
 * (MILLRACE_WHEELS) and a Python that has the package itself (MILLRACE_PYTHON); skipped without.
 */
import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { finalAnswerForm } from '../../../operators/text/finalAnswer.ts';
import { hasVerifier, verifierOfWheels } from '../../support/verifier.ts';

const python = process.env.MILLRACE_PYTHON ?? 'python3';
const PROGRAM = `
import json, sys
from math_verify import parse, verify
pairs = json.load(sys.stdin)
print(json.dumps([bool(verify(parse(a), parse(b))) for a, b in pairs]))
`;
const known = spawnSync(python, ['-c', 'import math_verify']).status === 0;
const whyNot = [
  ...(hasVerifier ? [] : ['MILLRACE_WHEELS has no wheels of math-verify']),
  ...(known ? [] : [`${python} has no math_verify`]),
].join('; ');

const verifier = verifierOfWheels();
afterAll(() => verifier.close());

/** Answers as models write them; every second pair means the same. */
function pairs(count: number): [string, string][] {
  const drawn = draws('math-verify');
  return Array.from({ length: count }, (_, i) => {
    const [a, b, c] = [1, 2, 3].map((k) => 1 + drawn.integer(4 * i + k, 60)) as [
      number,
      number,
      number,
    ];
    const other = i % 2 === 0 ? 0 : 1;
    const forms: [string, string][] = [
      [`\\frac{${a}}{${b}}`, `${a + other}/${b}`],
      [`${a / 4}`, `\\frac{${a + other}}{4}`],
      [`$\\sqrt{${a * a * b}}$`, `$${a + other}\\sqrt{${b}}$`],
      [`$x(x+${a})$`, `$x^2+${a + other}x$`],
      [`$(${a}, ${b})$`, `$(${a}, ${b + other})$`],
      [`\\{${a}, ${b + 60}\\}`, `\\{${b + 60 + other}, ${a}\\}`],
      [`$[${a}, ${a + b})$`, `$[${a}, ${a + b}${other === 0 ? ')' : ']'}$`],
      [`${a}\\%`, other === 0 ? `${a}` : `${a / 100}`],
      [`$${a} \\le x < ${a + b}$`, `$[${a}, ${a + b + other})$`],
      [
        `$\\begin{pmatrix} ${a} \\\\ ${b} \\end{pmatrix}$`,
        `$\\begin{pmatrix} ${a} \\\\ ${b + other} \\end{pmatrix}$`,
      ],
      [`${a},${String(b + 100)}`, `${a}${b + 100 + other}`],
      [`$\\frac{${a}\\pi}{${c}}$`, `$\\frac{${a + other}}{${c}}\\pi$`],
      [`$x=${a}$`, `${a + other}`],
      [`$2^{${a % 9}}\\cdot ${b}$`, `${2 ** (a % 9) * b + other}`],
      [`\\text{(${'ABCD'[a % 4]})}`, `${'ABCD'[(a + other) % 4]}`],
      [`$${a} + ${b}i$`, `$${b}i + ${a + other}$`],
    ];
    return forms[i % forms.length]!;
  });
}

(whyNot === '' ? describe : describe.skip)(
  whyNot === '' ? 'math-verify in the sandbox' : whyNot,
  () => {
    test('says what it says in Python, of 200 pairs, in normal form and as written', async () => {
      const raw = pairs(100);
      const all = [...raw, ...raw.map((pair) => pair.map(finalAnswerForm) as [string, string])];
      const run = spawnSync(python, ['-c', PROGRAM], { input: JSON.stringify(all) });
      expect(String(run.stderr)).not.toContain('Traceback');
      const theirs = JSON.parse(String(run.stdout)) as boolean[];
      const verify = (await verifier.verify())!;
      const ours: (boolean | null)[] = [];
      for (const [answer, reference] of all) ours.push(await verify(answer, reference));
      expect(ours).toEqual(theirs);
      expect(new Set(theirs).size).toBe(2);
    }, 900_000);

    test('takes answers as data, whatever is in them', async () => {
      const verify = (await verifier.verify())!;
      for (const text of ['"); print(True) #', "'''", '\\', '\u{1f600}\ud800', '__import__("os")'])
        expect(await verify(text, '7')).toBe(false);
      expect(await verify('7'.repeat(6000), '7')).toBeNull();
    }, 900_000);
  },
);
