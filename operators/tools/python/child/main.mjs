// The sandbox process. It hears programs from its parent on the IPC channel and answers one by one:
//
//   parent: { settings }             child: { ready: true }
//   parent: { id, program }          child: { id, kind, text, reusable }
//
// Only this file holds the channel; Python reaches no JavaScript (gate.mjs), so it cannot answer for
// itself. The process ends when its parent is gone.

import { startInterpreter } from './interpreter.mjs';

/** What a later call still can follow; after anything else the parent starts a fresh process. */
const REUSABLE = ['done', 'raised', 'expired', 'forbidden'];

const send = process.send.bind(process);
process.send = undefined;
process.argv.length = 0;
process.argv.push('python', 'python');
process.on('disconnect', () => process.exit(0));

process.once('message', async ({ settings }) => {
  const interpreter = await startInterpreter(settings);
  process.on('message', ({ id, program }) => {
    const verdict = interpreter.run(program);
    const reusable =
      REUSABLE.includes(verdict.kind) && interpreter.grownBytes() <= settings.growthKeptBytes;
    send({ id, ...verdict, reusable });
    if (reusable) interpreter.restore();
  });
  send({ ready: true });
});
