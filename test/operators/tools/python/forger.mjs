// A sandbox process that has been taken over: it says it is ready and then answers as its argument says.

import { createInterface } from 'node:readline';

const mode = process.argv[2];
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const answer = { kind: 'done', text: 'forged', reusable: true, worn: false };
const flood = () => process.stdout.write('x'.repeat(65_536), flood);

createInterface({ input: process.stdin })
  .on('close', () => process.exit(0))
  .on('line', (line) => {
    const { id, settings } = JSON.parse(line);
    if (settings) {
      if (mode === 'floods-first') flood();
      else if (mode !== 'silent') say({ ready: mode !== 'never-ready' });
      return;
    }
    if (mode === 'other-id') say({ ...answer, id: id + 1 });
    if (mode === 'other-kind') say({ ...answer, id, kind: 'won' });
    if (mode === 'not-text') say({ ...answer, id, text: { forged: 1 } });
    if (mode === 'nonsense') say(null);
    if (mode === 'no-json') process.stdout.write('forged\n');
    if (mode === 'long') say({ ...answer, id, text: 'forged'.repeat(100_000) });
    if (mode === 'floods') flood();
    if (mode === 'grows') process.held = Buffer.alloc(500 * 2 ** 20, 1);
    if (mode === 'exits') process.exit(0);
    if (mode === 'worn') say({ ...answer, id, text: `worn ${process.pid}`, worn: true });
    if (mode === 'twice') {
      say({ ...answer, id, text: 'first' });
      say({ ...answer, id: id + 1 });
    }
  });
