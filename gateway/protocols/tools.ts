/** Reads the functions that agents offer, and the texts of calls. */
import type { FunctionCall, FunctionTool, ModelCall } from '../conversation.ts';
import { type Fields, flagAt, invalid, nameAt, quoted, textAt, unsupported } from './reading.ts';
import { parametersAt } from './schema.ts';

/** A function, from fields that all protocols name alike except the schema. */
export function functionTool(fields: Fields, at: string, schema: string): FunctionTool {
  const { description } = fields;
  return {
    name: nameAt(fields.name, `${at}.name`),
    description: description == null ? '' : textAt(description, `${at}.description`),
    parameters: parametersAt(fields[schema], `${at}.${schema}`),
  };
}

/** Refuses two with the same name. */
export function distinct(tools: readonly FunctionTool[]): readonly FunctionTool[] {
  const names = new Set<string>();
  for (const [i, { name }] of tools.entries()) {
    if (names.has(name))
      throw invalid(`tools[${i}].name`, `is ${quoted(name)}, which another tool has too`);
    names.add(name);
  }
  return tools;
}

type ToolChoice = ModelCall['toolChoice'];

/** Refuses a choice of functions that were not offered. */
export function chosen(choice: ToolChoice, tools: readonly FunctionTool[]): ToolChoice {
  if (choice === 'required' && tools.length === 0) {
    throw invalid('tool_choice', 'asks for a call, but there are no tools');
  }
  if (typeof choice === 'object' && !tools.some(({ name }) => name === choice.name)) {
    throw invalid('tool_choice', `names ${quoted(choice.name)}, which is not among the tools`);
  }
  return choice;
}

/** A choice in one of OpenAI's protocols; `nameOf` finds the name of a chosen function. */
export function openAiChoice(
  value: unknown,
  nameOf: (choice: Fields) => unknown,
): Exclude<ToolChoice, never> {
  if (value === undefined || value === null) return 'auto';
  if (value === 'auto' || value === 'none' || value === 'required') return value;
  if (typeof value === 'object' && !Array.isArray(value)) {
    const choice = value as Fields;
    if (choice.type === 'function') return { name: nameAt(nameOf(choice), 'tool_choice.name') };
    throw unsupported('tool_choice', quoted(choice.type), 'choose a function, or send fewer tools');
  }
  throw invalid('tool_choice', 'must be auto, none, required or a function');
}

/** Whether an agent that speaks one of OpenAI's protocols forbids several calls at once. */
export function parallelAt({ parallel_tool_calls: value }: Fields): Pick<ModelCall, 'parallel'> {
  return value == null || flagAt(value, 'parallel_tool_calls') ? {} : { parallel: false };
}

/** The arguments as JSON text that agents can parse: what is not an object becomes `{}`. */
export function argumentsText(call: FunctionCall): string {
  return objectOf(call) === null ? '{}' : call.arguments;
}

export function argumentsObject(call: FunctionCall): Fields {
  return objectOf(call) ?? {};
}

function objectOf(call: FunctionCall): Fields | null {
  try {
    const value: unknown = JSON.parse(call.arguments);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Fields)
      : null;
  } catch {
    return null;
  }
}
