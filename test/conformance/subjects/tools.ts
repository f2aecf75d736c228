/**
 * The Python tool, as a program that runs. The rewritten source stays inside the sandbox, so what is compared is what
 * comes out of it; an error shows its last line only.
 */
import { pythonTool } from '../../../operators/tools/python/pythonTool.ts';
import type { Tool } from '../../../operators/tools/tool.ts';
import { Part, Skipped, type Subjects, subjectWith } from '../subject.ts';

interface PythonArgs {
  readonly code: string;
  readonly timeoutSeconds?: number;
}

export const toolSubjects: Subjects = {
  'python-rewrite': subjectWith<PythonArgs, Tool>(
    () => pythonTool({ timeoutMs: 10_000, printNone: true, outputMax: 1_000_000 }),
    async ({ code, timeoutSeconds }, python) => {
      if (timeoutSeconds !== undefined) throw new Skipped('the time limit is a setting here');
      const { output, ok } = await python.run(code, new AbortController().signal);
      if (output.startsWith('SystemExit')) throw new Skipped('this tool says that a program left');
      return new Part(ok ? { failed: false, result: output } : { failed: true, lastLine: output });
    },
  ),
};
