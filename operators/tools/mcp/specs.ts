/**
 * An MCP server's descriptions of its tools, made fit for a prompt. They are untrusted text that goes into
 * every prompt: names must be valid tags, sentences are cut to one line without anything that opens a tag or
 * a message, schemas are plain and bounded. A tool for which that is impossible is refused by name, and can
 * be left out by listing the wanted tools.
 */
import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { ToolParameters } from '../../../base/functions/index.ts';
import { MillraceError, outsideText } from '../../../base/index.ts';
import { fenceFor } from '../../dialect/fence.ts';

/** A tool of a server as it appears in prompts and in the run's folder. */
export const mcpToolSpec = z.object({
  server: z.string(),
  /** The server's name for it. */
  tool: z.string(),
  /** Its tag. */
  name: z.string(),
  about: z.string(),
  parameters: z.custom<ToolParameters>((value) => typeof value === 'object' && value !== null),
});
export type McpToolSpec = z.infer<typeof mcpToolSpec>;

const ABOUT_MAX = 600;
/** Limit of a text within a schema. */
const TEXT_MAX = 300;
const SCHEMA_CHARACTERS_MAX = 20_000;
const SCHEMA_DEPTH_MAX = 12;
const NAME = /^[\w-]{1,64}$/;
const ARGUMENT = /^[\w.$-]{1,64}$/;

export interface Wanted {
  /** Prefix of each name; '' = none. */
  readonly prefix: string;
  /** The server's names; null = all. */
  readonly tools: readonly string[] | null;
}

/** The wanted tools of a server. Throws code `MCP` if one cannot be used or is missing. */
export function specsOf(
  server: string,
  offered: readonly ServerTool[],
  { prefix, tools }: Wanted,
): McpToolSpec[] {
  const names = offered.map(({ name }) => outsideText(name, 64));
  const absent = tools?.find((name) => !offered.some((tool) => tool.name === name));
  if (absent !== undefined)
    throw refused(server, `has no tool ${absent}; it has: ${names.join(', ') || 'none'}`);
  const wanted = offered.filter(({ name }) => tools === null || tools.includes(name));
  if (wanted.length === 0) throw refused(server, 'has no tools');
  return wanted.map((tool) => specOf(server, tool, prefix));
}

function specOf(server: string, tool: ServerTool, prefix: string): McpToolSpec {
  const { name: own, description = tool.title ?? own, inputSchema } = tool;
  const refuse = (what: string) => refused(server, `${what}; ${ADVICE}`);
  const spec = promptSpec(own, { name: prefix + own, description, inputSchema }, refuse);
  return { server, tool: own, ...spec };
}

/**
 * A server's description of a tool, made fit for a prompt. `own` = its name there. Throws what `refuse` makes
 * of what is wrong with it.
 */
export function promptSpec(
  own: string,
  tool: { readonly name: string; readonly description: string; readonly inputSchema: unknown },
  refuse: (what: string) => Error,
): Pick<McpToolSpec, 'name' | 'about' | 'parameters'> {
  const { name, description, inputSchema } = tool;
  const shownName = outsideText(own, 64);
  if (!NAME.test(name))
    throw refuse(
      `has a tool ${shownName} whose name cannot be a tag (letters, digits, _ and -, at most 64)`,
    );
  const fence = fenceFor({ tools: [name] });
  const said = (text: string, max: number): string => fence(outsideText(text, max));
  const plain = (value: unknown, depth: number): unknown => {
    if (depth > SCHEMA_DEPTH_MAX)
      throw refuse(`has a tool ${shownName} whose schema is nested too deeply`);
    if (typeof value === 'string') return said(value, TEXT_MAX);
    if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        if (!ARGUMENT.test(key) || key === '__proto__')
          throw refuse(
            `has a tool ${shownName} with an invalid argument name (${outsideText(key, 64)})`,
          );
        return [key, plain(inner, depth + 1)];
      }),
    );
  };
  const { $schema: _, ...schema } = inputSchema as Record<string, unknown>;
  if (JSON.stringify(schema).length > SCHEMA_CHARACTERS_MAX)
    throw refuse(
      `has a tool ${shownName} whose schema is longer than ${SCHEMA_CHARACTERS_MAX} characters`,
    );
  const parameters = plain({ properties: {}, ...schema, type: 'object' }, 0) as ToolParameters;
  return { name, about: said(description, ABOUT_MAX), parameters };
}

const ADVICE = 'list the tools you want in tools.mcp.NAME.tools, leaving it out';

function refused(server: string, what: string): MillraceError {
  return new MillraceError('MCP', `the MCP server ${server} ${what}`, { context: { server } });
}
