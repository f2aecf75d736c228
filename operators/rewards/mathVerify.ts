/**
 * Symbolic verification by math-verify itself, in the Python sandbox: a hostile model may have written the
 * answers, so none is parsed in this process.
 *
 * Both answers are parsed and compared as the published rewards do it. A comparison that takes too long, or
 * too much memory, is a `false` there and here; an error of math-verify leaves the question open (null).
 */
import { LruCache } from '../../base/index.ts';
import { type NamedPackage, pythonTool } from '../tools/python/index.ts';
import type { VerifyAnswer } from './toolStar.ts';

export interface MathVerifierOptions {
  /** math-verify and its dependencies, in loading order. */
  readonly packages: readonly NamedPackage[];
  /** Of one comparison (default 20,000; the library stops each of its own steps after 5 s). */
  readonly timeoutMs?: number;
  /** Comparisons at once, each in a process of about 350 MiB (default 1). */
  readonly processes?: number;
}

export interface MathVerifier {
  readonly verify: VerifyAnswer;
  close(): Promise<void>;
}

/** Longer answers are not compared: they are no answers. */
const LENGTH_MAX = 5000;
/** Limit of pairs whose verdict is cached: the rollouts of a group often give the same answer. */
const KEPT = 4096;

/** The process starts with the first comparison, which takes a few seconds. Rejects like the Python tool. */
export function mathVerifier(options: MathVerifierOptions): MathVerifier {
  const { packages, timeoutMs = 20_000, processes = 1 } = options;
  const tool = pythonTool({
    packages,
    timeoutMs,
    processes,
    spares: 0,
    memoryMaxMiB: 512,
    prelude: PRELUDE,
  });
  const known = new LruCache<boolean | null>(KEPT);
  return {
    async verify(answer, reference, signal = new AbortController().signal) {
      if (answer.length > LENGTH_MAX || reference.length > LENGTH_MAX) return null;
      const pair = JSON.stringify([answer, reference]);
      const before = known.get(pair);
      if (before !== undefined) return before;
      const { output } = await tool.run(programOf(pair), signal);
      const verdict = verdictOf(output);
      known.set(pair, verdict);
      return verdict;
    },
    close: () => tool.close(),
  };
}

/**
 * The library's own time limits need signals, which the sandbox does not have: the sandbox's limit replaces
 * them. The comparisons at the start build its grammars, which takes a second.
 */
const PRELUDE = `
import json, math_verify.parser, math_verify.grader

def unlimited(timeout_seconds=0):
    return lambda run: run

def same(pair):
    answer, reference = map(math_verify.parser.parse, json.loads(pair))
    print(bool(math_verify.grader.verify(answer, reference)))

math_verify.parser.timeout = math_verify.grader.timeout = unlimited
math_verify.same = same
for text in ('$\\\\frac{x^2+1}{\\\\sqrt{3}}$', '$(1, 2] \\\\cup \\\\{3\\\\}$', '$x = \\\\sin 2$', '1/2'):
    math_verify.grader.verify(math_verify.parser.parse(text), math_verify.parser.parse(text + ' '))
`;

function programOf(pair: string): string {
  const ascii = pair.replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `import math_verify\nmath_verify.same(${JSON.stringify(ascii)})`;
}

function verdictOf(output: string): boolean | null {
  if (output === 'True') return true;
  return output === 'False' || /^(Timeout|Memory)Error: the program /.test(output) ? false : null;
}
