// The sandbox process. Its parent writes lines of JSON to standard input and reads as many from standard
// output:
//
//   parent: { settings }             child: { ready: true }
//   parent: { id, program }          child: { id, kind, text, reusable, worn }
//
// Only this file and channel.mjs hold the way out; Python reaches no JavaScript (gate.mjs), so it cannot
// answer for itself. The process ends when its parent is gone.

import { openChannel } from './channel.mjs';
import { startInterpreter } from './interpreter.mjs';

/** What a later call still can follow; after anything else the parent starts a fresh process. */
const REUSABLE = ['done', 'raised', 'expired', 'forbidden'];

process.argv.length = 0;
process.argv.push('python', 'python');

const channel = openChannel();
const { settings } = await channel.next();
const interpreter = await startInterpreter(settings);
channel.send({ ready: true });
for (;;) {
  const { id, program } = await channel.next();
  const verdict = interpreter.run(program);
  const reusable = REUSABLE.includes(verdict.kind);
  const worn = interpreter.grownBytes() > settings.growthKeptBytes;
  channel.send({ id, ...verdict, reusable, worn });
  if (reusable) interpreter.restore();
}
