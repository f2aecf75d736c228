/**
 * A function that is a program (ToolHop's are given as Python): each call runs the question's definitions and
 * the call in the Python tool. It answers `{"response": …}`, or `{"error": …}` as the release does.
 */

import type { ToolDoc } from '../../../base/functions/index.ts';
import { isErrorResponse } from '../../tools/errorResponse.ts';
import type { Tool, ToolResult } from '../../tools/tool.ts';

/** `program` defines a function with the doc's name; whoever opened `python` closes it. */
export function programTool(doc: ToolDoc, program: string, python: Tool): Tool {
  const { name, description: about, parameters } = doc;
  return {
    ...{ name, about, parameters },
    concurrencyMax: python.concurrencyMax,
    pure: python.pure,
    async run(input, signal): Promise<ToolResult> {
      if (!/^[A-Za-z_]\w*$/.test(name))
        return error(`${name} is not the name of a Python function`);
      const { output, ok } = await python.run(programOf(name, program, input), signal);
      return ok ? { output, ok: !isErrorResponse(output) } : error(output);
    },
    close: async () => undefined,
  };
}

/** A JSON string is also a Python string. */
function programOf(name: string, program: string, input: string): string {
  return `${program}

import json as _json
try:
    _given = _json.loads(${JSON.stringify(input)})
    _said = {"response": ${name}(**_given)}
except Exception as _error:
    _said = {"error": f"{type(_error).__name__}: {_error}"}
print(_json.dumps(_said, default=str))
`;
}

function error(why: string): ToolResult {
  return { output: JSON.stringify({ error: why }), ok: false };
}
