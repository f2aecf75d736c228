/** How the small policy is prompted: the question alone; it needs no instructions. Memories follow it. */
import type { FirstMessageOf } from 'millrace/operators';

export const firstMessage: FirstMessageOf = (question) => ({
  text: `${question}\nGo`,
  anchor: 'Go',
  at: question.length + 1,
});
