/**
 * Appends as many questions as each line of stdin says, and answers with the total.
 * Usage: append.ts <folder>. Prints `ready` once it holds the lock; ends with its stdin.
 */
import { createInterface } from 'node:readline';
import { openLog } from '../../../../streams/embedded/openLog.ts';
import { topics } from '../../../../topics/index.ts';
import { question } from '../../../support/records.ts';

const log = await openLog({ folder: process.argv[2]!, mode: 'write' });
console.log('ready');
let total = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const count = Number(line);
  await log.commit((tx) => {
    for (let i = 0; i < count; i++) tx.append(topics.questions, question({ id: `q${total + i}` }));
  });
  total += count;
  console.log(total);
}
await log.close();
