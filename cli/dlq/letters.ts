/** The dead letters of a run, with their places in the topic, and which of them have been put back. */
import { lastValueFrom, toArray } from 'rxjs';
import { retriedMark } from '../../streams/deliveries/index.ts';
import type { Log } from '../../streams/index.ts';
import { allTopics, type DeadLetter, topics } from '../../topics/index.ts';

export interface Letter {
  /** Offset in `dead-letters`: its number on the command line. */
  readonly number: number;
  readonly atMs: number;
  readonly letter: DeadLetter;
  /** Put back by `dlq retry`. */
  readonly retried: boolean;
}

export async function lettersIn(log: Log): Promise<readonly Letter[]> {
  const letters: Letter[] = [];
  const all$ = log.tap(topics.deadLetters, { from: { kind: 'earliest' }, follow: false });
  for (const { value, position, atMs } of await lastValueFrom(all$.pipe(toArray()))) {
    const number = position.offset;
    const retried = (await log.mark(retriedMark(number))) !== 0;
    letters.push({ number, atMs, letter: value, retried });
  }
  return letters;
}

/** Whether it is about a record of a topic, not a row of a file. */
export function isOfTopic({ origin }: DeadLetter): boolean {
  return allTopics.some(({ name }) => name === origin);
}
