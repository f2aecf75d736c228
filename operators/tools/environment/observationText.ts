/**
 * An observation as the policy reads it: its text, if it has nothing else; the fields that a job wants to
 * show; otherwise its JSON. Secrets are removed and it is cut, like every tool's output.
 */
import { outputText } from '../outputText.ts';

type Observation = Readonly<Record<string, unknown>>;

/** The text, and whether it reports a failure of a tool of the environment. */
export interface Shown {
  readonly text: string;
  readonly failed: boolean;
}

/** `show` = names of fields; empty = see above. */
export function observationText(
  observation: Observation,
  { show, charactersMax }: { readonly show: readonly string[]; readonly charactersMax: number },
): Shown {
  const { text, failed } = show.length > 0 ? chosen(observation, show) : told(observation);
  return { text: outputText(text.trim(), charactersMax), failed };
}

function chosen(observation: Observation, show: readonly string[]): Shown {
  const fields = show.filter((name) => isTelling(observation[name]));
  const [only, ...more] = fields;
  if (only !== undefined && more.length === 0) return fine(textOf(observation[only]));
  return fine(fields.map((name) => `${name}: ${textOf(observation[name])}`).join('\n'));
}

function told(observation: Observation): Shown {
  if (typeof observation.tool_name === 'string') return answered(observation);
  const fields = Object.entries(observation).filter(([, value]) => isTelling(value));
  const [only, ...more] = fields;
  if (only === undefined) return fine('');
  if (more.length === 0 && typeof only[1] === 'string') return fine(only[1]);
  return fine(JSON.stringify(Object.fromEntries(fields)));
}

/** The answer of a tool of the environment, in MCP's form. */
function answered({ result, error }: Observation): Shown {
  if (isObject(error)) return { text: `Error: ${textOf(error.message ?? error)}`, failed: true };
  if (!isObject(result)) return fine(textOf(result ?? ''));
  const { content, is_error: isError, isError: isErrorToo } = result;
  const failed = isError === true || isErrorToo === true;
  if (!Array.isArray(content)) return { text: JSON.stringify(result), failed };
  const texts = content.map((part: unknown) =>
    isObject(part) && typeof part.text === 'string' ? part.text : '[not a text]',
  );
  return { text: texts.join('\n'), failed };
}

function fine(text: string): Shown {
  return { text, failed: false };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isTelling(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return !isObject(value) || Object.keys(value).length > 0;
}

function isObject(value: unknown): value is Observation {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
