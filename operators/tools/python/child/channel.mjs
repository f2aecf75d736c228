// The way to the parent: lines of JSON, in on standard input and out on standard output. A Node channel
// (`ipc`) would do the same, but its reader takes a message of any length; the reader of these lines bounds
// them (channel.ts).
//
// It is opened before the doors are closed (host.mjs), which takes `fs.writeSync` away from everybody else.

import { writeSync } from 'node:fs';

const STDOUT = 1;

/** Reads and writes from here on; the process ends when the parent closes its side. */
export function openChannel() {
  const write = writeSync;
  const { stdin } = process;
  const heard = [];
  let waiting = null;
  let rest = '';
  stdin.setEncoding('utf8');
  stdin.on('end', () => process.exit(0));
  stdin.on('error', () => process.exit(0));
  stdin.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    heard.push(...lines);
    waiting?.();
  });
  return {
    /** The next message, when it is there. */
    async next() {
      while (heard.length === 0) {
        await new Promise((resolve) => {
          waiting = resolve;
        });
      }
      return JSON.parse(heard.shift());
    },
    /** Has been written when this returns. */
    send(message) {
      const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
      for (let at = 0; at < bytes.length; ) at += write(STDOUT, bytes, at);
    },
  };
}
