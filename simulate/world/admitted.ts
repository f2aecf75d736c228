import type { GenerateRequest } from '../../model/index.ts';

/** The policy never works on more questions at once than were admitted. */
export function admittedAtOnce(
  concurrency: number,
  broken: (what: string) => void,
): (request: GenerateRequest, now: boolean) => void {
  const open = new Map<string, number>();
  return ({ draws: [, id, phase, round] }, now) => {
    // Separate stages, each with its own admission.
    const stage = phase === 'practice' || phase === 'evolve' ? phase : '';
    const key = JSON.stringify([stage, id, phase, round]);
    const count = (open.get(key) ?? 0) + (now ? 1 : -1);
    if (count === 0) open.delete(key);
    else open.set(key, count);
    const kind = key.split(',')[0]!;
    const admitted = [...open.keys()].filter((other) => other.startsWith(kind)).length;
    if (admitted > concurrency) {
      broken(`${admitted} questions are rolled out at once, and concurrency is ${concurrency}`);
    }
  };
}
