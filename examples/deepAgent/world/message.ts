/** The small policy's prompt: the question alone, followed by its memories; it needs no instructions. */
import type { FirstMessageOf } from 'millrace/operators';

export const firstMessage: FirstMessageOf = (question) => ({
  text: `${question}\nGo`,
  anchor: 'Go',
  at: question.length + 1,
});
