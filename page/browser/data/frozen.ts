/**
 * The page frozen into a file: its data is in the file itself, without requests to a server. Null on a
 * served page.
 */
import { FROZEN_ID, type Frozen, RESULTS_ID } from '../../wire/index.ts';

function read(): Frozen | null {
  const element = document.getElementById(FROZEN_ID);
  return element === null ? null : (JSON.parse(element.textContent ?? '') as Frozen);
}

export const frozen: Frozen | null = read();

/** The static report, which is in the file for readers without scripts; the view of results shows it. */
export const results: Element | null = document.getElementById(RESULTS_ID);
