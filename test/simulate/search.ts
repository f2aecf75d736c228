/** Runs the built search as `npm run search` does. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/simulate/search/main.js', import.meta.url));

export interface Searched {
  readonly code: number | null;
  readonly out: string;
}

export function search(...args: readonly string[]): Promise<Searched> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...args]);
    let out = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        out += text;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out }));
  });
}
