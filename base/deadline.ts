/**
 * Runs pure work that depends on a file's contents (its regular expressions, its templates, its YAML) and
 * gives up when it takes too long.
 *
 * The work runs on this thread, under V8's watchdog, which ends loops and regular expressions wherever they
 * are; that costs a sixth of a millisecond. Work that was ended starts again, since it may not be at fault:
 * the process may have been suspended, or the machine busy. So the work has to be pure.
 */
import { createContext, Script } from 'node:vm';

const DEADLINE_MS = 600;
/** Each attempt may take twice as long as the previous one. */
const ATTEMPTS = 7;

const script = new Script('act()');
const room = createContext({ act: (): void => undefined });

/**
 * The result of `act`; throws `late()` if it was ended at least twice and this process had the processor for
 * as long as an attempt may take.
 */
export function withinDeadline<Result>(act: () => Result, late: () => Error): Result {
  const first = tried(act, DEADLINE_MS);
  if (first !== null) return first.result;
  const before = process.cpuUsage();
  for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
    const outcome = tried(act, DEADLINE_MS * 2 ** attempt);
    if (outcome !== null) return outcome.result;
    const { user, system } = process.cpuUsage(before);
    if (user + system >= DEADLINE_MS * 1000) break;
  }
  throw late();
}

/** Null: it was ended. Nested work runs on one budget, so the outer deadline is restored. */
function tried<Result>(act: () => Result, timeout: number): { readonly result: Result } | null {
  const around = room.act;
  let outcome: { readonly result: Result } | null = null;
  room.act = () => {
    outcome = { result: act() };
  };
  try {
    script.runInContext(room, { timeout });
    return outcome;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null;
    throw error;
  } finally {
    room.act = around;
  }
}
