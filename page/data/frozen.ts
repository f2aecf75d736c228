/**
 * The page frozen into a file: the data of its twins stand in the file itself, by their addresses, and nothing is asked of a
 * server. Null on a served page.
 */
export interface Frozen {
  /** Which view the file opens with. */
  readonly start: string;
  /** Address of a twin → what it would answer. */
  readonly twins: Readonly<Record<string, unknown>>;
}

function read(): Frozen | null {
  const element = document.getElementById('millrace-data');
  return element === null ? null : (JSON.parse(element.textContent ?? '') as Frozen);
}

export const frozen: Frozen | null = read();
