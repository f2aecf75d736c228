/** The folder that `npm run real-model` makes, at its usual place. */
import { spawnSync } from 'node:child_process';

/** Ends the process where it cannot be made: what is missing has been said. */
export function realModel(): string {
  const { status, stdout } = spawnSync('npm', ['run', '--silent', 'real-model'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) process.exit(1);
  return stdout.trim();
}
