/**
 * Prometheus and its promtool, where they are installed (Debian has both in one package). A test without them
 * says so in its title.
 */
import { spawnSync } from 'node:child_process';
import { test } from '@jest/globals';

const there = ['prometheus', 'promtool'].every(
  (program) => spawnSync(program, ['--version']).status === 0,
);

/** `test` with both, or a skipped one. */
export function withPrometheus(title: string, body: () => Promise<void> | void): void {
  if (there) test(title, async () => body());
  else
    test.skip(`${title} (skipped: no prometheus and promtool on the PATH; Debian's package prometheus has them)`, () =>
      undefined);
}

/** What promtool prints, and whether it is content. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly ok: boolean; readonly said: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { ok: status === 0, said: stdout + stderr };
}
