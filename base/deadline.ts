/**
 * Pure work that depends on a file's contents (its regular expressions, its templates, its YAML), given up
 * when it takes too long.
 *
 * The work runs here, on this thread, under V8's watchdog, which ends loops and regular expressions wherever
 * they are; it costs a sixth of a millisecond. Work that was ended is begun again, since a process that
 * was stopped for a while has done nothing wrong; so it has to be pure.
 */
import { createContext, Script } from 'node:vm';

const DEADLINE_MS = 600;

const script = new Script('act()');
const room = createContext({ act: (): void => undefined });

/** What `act` gives, or `late()` if it took too long twice. */
export function withinDeadline<Result>(act: () => Result, late: () => Error): Result {
  const outcome = tried(act) ?? tried(act);
  if (outcome === null) throw late();
  return outcome.result;
}

/** Null: it was ended. Work within work shares the one room, so what is around is put back. */
function tried<Result>(act: () => Result): { readonly result: Result } | null {
  const around = room.act;
  let outcome: { readonly result: Result } | null = null;
  room.act = () => {
    outcome = { result: act() };
  };
  try {
    script.runInContext(room, { timeout: DEADLINE_MS });
    return outcome;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null;
    throw error;
  } finally {
    room.act = around;
  }
}
