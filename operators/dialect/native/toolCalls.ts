/**
 * Calls in the form of function calling: a name and arguments as JSON. A tool takes one text, or, if its
 * schema has several arguments or another kind, the arguments as JSON.
 */

import type { ToolParameters } from '../../../base/functions/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import type { Tool } from '../../tools/tool.ts';
import type { DialectCall } from '../dialect.ts';

/** A tool's description for a policy. */
export interface ToolSpec {
  readonly name: string;
  readonly about: string;
  readonly parameters: ToolParameters;
}

/** Names of the only argument of well-known tools. */
const ARGUMENTS: Readonly<Record<string, readonly [string, string]>> = {
  search: ['query', 'What to look for.'],
  python: ['code', 'The program; it prints what it finds out.'],
};

/** The description of a tool for a policy. */
export function specOf({
  name,
  about,
  parameters,
}: Pick<Tool, 'name' | 'about' | 'parameters'>): ToolSpec {
  const [argument, description] = ARGUMENTS[name] ?? ['input', 'What the tool is given.'];
  const one: ToolParameters = {
    type: 'object',
    properties: { [argument]: { type: 'string', description } },
    required: [argument],
  };
  return { name, about, parameters: parameters ?? one };
}

/** In the form that chat templates read: JSON schemas of functions. */
export function functionOf({ name, about, parameters }: ToolSpec) {
  return { type: 'function', function: { name, description: about, parameters } } as const;
}

/** The arguments that give a tool this input. */
export function argumentsFor(input: string, spec: ToolSpec): Readonly<Record<string, unknown>> {
  const only = onlyText(spec);
  if (only !== null) return { [only]: input };
  const json = jsonIn(input);
  return isObject(json) ? json : { input };
}

/** A call from its JSON; `text` = as the policy wrote it. */
export function callFrom(text: string, tools: readonly ToolSpec[]): DialectCall {
  const json = jsonIn(text);
  if (!isObject(json)) return fault('', 'a call is one JSON object with a name and its arguments');
  const { name } = json;
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) {
    const names = tools.map((one) => one.name).join(', ');
    return fault('', `there is no tool ${JSON.stringify(name ?? null)}; there are: ${names}`);
  }
  const given = json.arguments ?? json.parameters ?? {};
  const args = typeof given === 'string' ? jsonIn(given) : given;
  if (!isObject(args)) return fault(tool.name, `the arguments of ${tool.name} are one JSON object`);
  return withArguments(tool, args);
}

/** A call of a tool with these arguments, or what is wrong with them. */
export function withArguments(
  tool: ToolSpec,
  args: Readonly<Record<string, unknown>>,
): DialectCall {
  const { name, parameters } = tool;
  const only = onlyText(tool);
  const missing = (parameters.required ?? []).find((key) => args[key] === undefined);
  if (missing !== undefined) return fault(name, `${name} needs the argument ${missing}`);
  if (only === null) return { tool: name, input: JSON.stringify(args) };
  const value = args[only];
  if (typeof value === 'number' || typeof value === 'boolean') {
    return { tool: name, input: String(value) };
  }
  if (typeof value !== 'string') return fault(name, `the argument ${only} of ${name} is a text`);
  return { tool: name, input: value.trim() };
}

/** A call that cannot be made. */
export function fault(tool: string, why: string): DialectCall {
  return { tool, input: '', fault: `Error: ${why}.` };
}

/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The name of a tool's one argument if that is a text. */
/** The only argument of a tool that takes one text; null for any other. */
export function onlyText({ parameters }: ToolSpec): string | null {
  const [first, ...more] = Object.entries(parameters.properties);
  return first !== undefined && more.length === 0 && first[1].type === 'string' ? first[0] : null;
}
