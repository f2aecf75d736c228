/** The text by which a tool is found (DeepAgent §1.5): each toolset has its own form. */

import type { RawApi, ToolDoc } from '../../../base/functions/index.ts';
import { pythonJson } from '../pythonJson.ts';

/** ToolBench: category, tool, API and description, then parameters and what comes back. */
export function apiText(raw: RawApi): string {
  const { category_name, tool_name, api_name, api_description } = raw;
  return [
    [category_name, tool_name, api_name, api_description].join(', '),
    `required_params: ${pythonJson(raw.required_parameters ?? [])}`,
    `optional_params: ${pythonJson(raw.optional_parameters ?? [])}`,
    `return_schema: ${pythonJson(raw.template_response ?? '')}`,
  ].join(', ');
}

/**
 * ToolHop, RestBench and your own libraries: name, description and the schema of the parameters, a line each.
 */
export function functionText({ name, description, parameters }: ToolDoc): string {
  return `${name}\nDescription: ${description}\nParameters: ${pythonJson(parameters)}`;
}

/** API-Bank: name, description, and each parameter with its own. */
export function parameterText({ name, description, parameters }: ToolDoc): string {
  const each = Object.entries(parameters.properties).map(
    ([parameter, property]) => `${parameter}: ${property.description ?? ''}`,
  );
  return [name, description, ...each].join(', ');
}
