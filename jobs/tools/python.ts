/** `python`: runs programs, in a sandbox on this machine or on a server. */
import { MillraceError } from '../../base/index.ts';
import { cachedTool } from '../../operators/tools/cache/index.ts';
import { pythonOf } from './pythonOf.ts';
import { defineTool } from './toolKind.ts';

export const python = defineTool({
  async open(context, shared) {
    const { packages, cachePython, python } = context.settings.tools;
    const tool = await pythonOf(python, packages, { ...context, clock: shared.clock });
    if (cachePython && !tool.pure) {
      throw new MillraceError(
        'USAGE',
        'tools.cachePython=true cannot be used with tools.python.url: on a server a program may give a different result each time',
      );
    }
    const cache = cachePython ? shared.cache() : null;
    const { timeoutMs, memoryMaxMiB, characters } = python;
    const scope = `pyodide 314.0.7 ${timeoutMs} ${memoryMaxMiB} ${characters} ${tool.about}`;
    return cache === null ? tool : cachedTool(tool, cache, scope);
  },
});
