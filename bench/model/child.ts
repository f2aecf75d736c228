/** Our measurement in a process of its own, for its memory: `trainOnce.ts`. */
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Trained, TrainOnce } from './trainOnce.ts';

export function trainOnce(settings: TrainOnce): Trained {
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const script = fileURLToPath(new URL('trainOnce.ts', import.meta.url));
  const args = ['--import', loader, script, JSON.stringify(settings)];
  const out = execFileSync(process.execPath, args, { encoding: 'utf8' });
  return JSON.parse(out.trimEnd().split('\n').at(-1)!) as Trained;
}
