/**
 * What a policy reads about a tool, and how ToolBench's descriptions of APIs become that (DeepAgent §1.5).
 */

import { functionName, standardName, unreserved } from './standardName.ts';
import type { ToolParameters } from './toolParameters.ts';

/** An OpenAI function. */
export interface ToolDoc {
  readonly name: string;
  readonly description: string;
  readonly parameters: ToolParameters;
}

/** A parameter in ToolBench's form. */
export interface RawParameter {
  readonly name: string;
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
}

/** An API in ToolBench's form. */
export interface RawApi {
  readonly category_name: string;
  readonly tool_name: string;
  readonly api_name: string;
  readonly api_description: string;
  readonly required_parameters?: readonly RawParameter[];
  readonly optional_parameters?: readonly RawParameter[];
  /** What it gives, as a JSON schema. */
  readonly template_response?: unknown;
}

const TYPES: Readonly<Record<string, string>> = {
  NUMBER: 'integer',
  STRING: 'string',
  BOOLEAN: 'boolean',
};
const DESCRIPTION_MAX = 256;

/** The function of an API. In the reference, an API without required parameters loses its optional ones. */
export function toolDoc(raw: RawApi, mode: 'repaired' | 'reference'): ToolDoc {
  const { required_parameters: needed = [], optional_parameters: others = [] } = raw;
  const optional = mode === 'reference' && needed.length === 0 ? [] : others;
  const named = [...needed, ...optional].map((one) => [parameterName(one), propertyOf(one)]);
  return {
    name: functionName(raw.api_name, raw.tool_name),
    description: cut(raw.api_description),
    parameters: {
      type: 'object',
      properties: Object.fromEntries(named),
      required: needed.map(parameterName),
      optional: optional.map(parameterName),
    },
  };
}

function parameterName({ name }: RawParameter): string {
  return unreserved(standardName(name));
}

function propertyOf({ type = '', description = '', default: example }: RawParameter) {
  return {
    type: TYPES[type] ?? 'string',
    description: cut(description),
    ...(isEmpty(example) ? {} : { example_value: example }),
  };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || String(value) === '';
}

function cut(text: string): string {
  return [...text].slice(0, DESCRIPTION_MAX).join('');
}
