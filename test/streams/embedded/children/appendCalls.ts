/**
 * Appends tool calls of few questions, in commits of differing size, until it is killed.
 * Usage: appendCalls.ts <folder> <seed>. Prints how many it has appended after every commit.
 */
import { draws } from '../../../../base/draws.ts';
import { openLog } from '../../../../streams/embedded/openLog.ts';
import { topics } from '../../../../topics/index.ts';
import { drawnCall } from '../../../support/drawnCall.ts';

const random = draws('calls', Number(process.argv[3]));
const log = await openLog({ folder: process.argv[2]!, mode: 'write' });
for (let total = 0, commit = 0; ; commit++) {
  const count = 1 + random.integer(commit, 200);
  await log.commit((tx) => {
    for (let i = 0; i < count; i++) {
      tx.append(topics.toolCalls, drawnCall(random.under(commit), i));
    }
  });
  total += count;
  console.log(total);
}
