/**
 * The models of one question's flywheel, and which of its requests got no answer. On a replay those are not
 * asked again: a model that answers now would make another pool.
 *
 * Requests of one name are made one after another, so each has a number.
 */
import { MillraceError, messageOf } from '../../base/index.ts';
import type { Unanswered } from '../../topics/index.ts';
import type { Complete } from './models.ts';

export interface Answers {
  readonly complete: Complete;
  /** By name and number: independent of which ended first. */
  readonly unanswered: () => readonly Unanswered[];
}

/** `recorded` = the requests that got no answer in the recorded run; left out = not a replay. */
export function answersOf(complete: Complete, recorded: readonly Unanswered[] = []): Answers {
  const numbers = new Map<string, number>();
  const none: Unanswered[] = [];
  const reasons = new Map(recorded.map(({ request, reason }) => [request, reason]));
  return {
    async complete(asked, signal) {
      const { name } = asked;
      const number = numbers.get(name) ?? 0;
      numbers.set(name, number + 1);
      const request = `${name}#${number}`;
      const missed = (reason: string): void => void none.push({ request, reason });
      const reason = reasons.get(request);
      if (reason !== undefined) {
        missed(reason);
        if (reason === '') return null;
        throw new Error(reason);
      }
      try {
        const text = await complete(asked, signal);
        if (text === null) missed('');
        return text;
      } catch (error) {
        // These yield nothing at all: the question is evolved again.
        if (!signal.aborted && !(error instanceof MillraceError)) missed(messageOf(error));
        throw error;
      }
    },
    unanswered: () => none.toSorted((a, b) => (a.request < b.request ? -1 : 1)),
  };
}
