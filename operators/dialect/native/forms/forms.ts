/** The forms of calls, and the one that a policy writes. */
import type { ToolSpec } from '../toolCalls.ts';
import * as all from './all.ts';
import type { CallForm, Piece } from './form.ts';

/** One of `nativeForms`. */
export type NativeForm = keyof typeof all;
/** The names of the forms. */
export const nativeForms = Object.keys(all) as readonly NativeForm[];
const forms: Readonly<Record<NativeForm, CallForm>> = all;

/** What follows the policy's thinking, in pieces. */
export function piecesOf(
  text: string,
  form: NativeForm,
  tools: readonly ToolSpec[],
): readonly Piece[] {
  return forms[form](text, tools);
}
