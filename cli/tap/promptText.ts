/** Prompts for people: a rollout has the policy's text, but only the tokens of its prompt. */
import { counted } from '../../base/text/index.ts';

/** Tokens as text; null if unknown. */
export type TextOf = (tokens: Int32Array) => Promise<string | null>;

/** The tokens of a record's prompt; null if it has none. */
export function promptOf(shown: unknown): Int32Array | null {
  if (typeof shown !== 'object' || shown === null) return null;
  const { prompt } = shown as { readonly prompt?: unknown };
  return prompt instanceof Int32Array ? prompt : null;
}

/**
 * The record with its prompt as text, under a name that says how many tokens it is; unchanged if there is
 * none.
 */
export async function withPrompt(shown: unknown, textOf: TextOf): Promise<unknown> {
  const prompt = promptOf(shown);
  const text = prompt === null ? null : await textOf(prompt);
  if (prompt === null || text === null) return shown;
  const label = `prompt (${counted(prompt.length, 'token')})`;
  const named = Object.entries(shown as object).map(([name, value]) =>
    name === 'prompt' ? [label, text] : [name, value],
  );
  return Object.fromEntries(named);
}
