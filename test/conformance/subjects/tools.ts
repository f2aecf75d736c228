/**
 * The Python tool, as a program that runs. The rewritten source stays inside the sandbox, so what is compared
 * is what comes out of it; an error shows its last line only.
 */
import { pythonTool } from '../../../operators/tools/python/pythonTool.ts';
import type { Tool } from '../../../operators/tools/tool.ts';
import { Part, type Subjects, subjectWith } from '../subject.ts';

interface PythonArgs {
  readonly code: string;
  readonly timeoutSeconds?: number;
}

const tool = (timeoutMs: number): Tool =>
  pythonTool({ timeoutMs, printNone: true, outputMax: 1_000_000 });

/**
 * Our tool says in words how a program left or that it took too long; the published one in others, or not at
 * all.
 */
function asPublished(output: string): string {
  if (output.startsWith('TimeoutError: the program ran longer')) return 'Execution Timeout';
  const [, left] = /^SystemExit: (.*)$/s.exec(output) ?? [];
  if (left === undefined) return output;
  return /^-?\d+$/.test(left) ? '' : left;
}

export const toolSubjects: Subjects = {
  'python-rewrite': subjectWith<PythonArgs, Tool>(
    () => tool(10_000),
    async ({ code, timeoutSeconds }, python) => {
      const own = timeoutSeconds === undefined ? python : tool(timeoutSeconds * 1000);
      const { output, ok } = await own.run(code, new AbortController().signal);
      if (own !== python) await own.close();
      return new Part(
        ok ? { failed: false, result: output } : { failed: true, lastLine: asPublished(output) },
      );
    },
  ),
};
