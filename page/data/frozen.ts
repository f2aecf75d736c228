/**
 * The page frozen into a file: the data of its twins stand in the file itself, and nothing is asked of a server. Null on a
 * served page.
 */
import { FROZEN_ID, type Frozen } from '../../views/page/wire.ts';

function read(): Frozen | null {
  const element = document.getElementById(FROZEN_ID);
  return element === null ? null : (JSON.parse(element.textContent ?? '') as Frozen);
}

export const frozen: Frozen | null = read();
