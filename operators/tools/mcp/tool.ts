/**
 * A tool of an MCP server as a tool of a job: the policy's text becomes arguments, and the server's reply
 * becomes text.
 */
import type { CallToolResult } from '@modelcontextprotocol/client';
import { hasCode, messageOf, outsideText } from '../../../base/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import { isObject, onlyText, specOf } from '../../dialect/native/toolCalls.ts';
import { outputText } from '../outputText.ts';
import { type Tool, type ToolResult, toolDown } from '../tool.ts';
import type { McpServer } from './server.ts';
import type { McpToolSpec } from './specs.ts';

export interface McpToolOptions {
  /** Limit of code points of a result; a longer one is cut and ends in `...`. */
  readonly charactersMax: number;
  readonly concurrencyMax: number;
}

/** The server stays open: many tools share it. */
export function mcpTool(
  server: McpServer,
  { tool, name, about, parameters }: McpToolSpec,
  { charactersMax, concurrencyMax }: McpToolOptions,
): Tool {
  const only = onlyText(specOf({ name, about, parameters }));
  return {
    ...{ name, about, parameters, concurrencyMax, pure: false },
    async run(input, signal) {
      const args = only === null ? jsonIn(input) : { [only]: input };
      if (!isObject(args)) {
        const names = Object.keys(parameters.properties).join(', ');
        return failed(`Error: ${name} takes one JSON object with: ${names || 'nothing'}.`);
      }
      try {
        const result = await server.call(tool, args, signal);
        const output = outputText(textOf(result), charactersMax);
        return { output, ok: result.isError !== true };
      } catch (error) {
        signal.throwIfAborted();
        if (hasCode(error, 'MCP')) throw toolDown(name, messageOf(error), error);
        return failed(`Error: ${outsideText(messageOf(error))}`);
      }
    },
    close: async () => undefined,
  };
}

function failed(output: string): ToolResult {
  return { output, ok: false };
}

/** The text of a result; for other content, its kind. A result that is only data becomes its JSON. */
export function textOf({ content, structuredContent }: CallToolResult): string {
  const parts = content.map((part) => {
    switch (part.type) {
      case 'text':
        return part.text;
      case 'image':
      case 'audio':
        return `[${part.type}: ${outsideText(part.mimeType, 100)}]`;
      case 'resource':
        return 'text' in part.resource
          ? part.resource.text
          : `[resource: ${outsideText(part.resource.uri)}]`;
      case 'resource_link':
        return `[resource: ${outsideText(part.uri)}]`;
      default:
        return part satisfies never;
    }
  });
  if (parts.length === 0 && structuredContent !== undefined) {
    return JSON.stringify(structuredContent);
  }
  return parts.join('\n').trim();
}
