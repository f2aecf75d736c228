/**
 * `npm run docs:site` and `npm run docs:dev`: the documentation as a site, in docs/.vitepress/dist or served
 * while you write. VitePress has a lock file of its own beside its settings; it is installed when it is first
 * needed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../test/support/exports.ts';

const here = join(ROOT, 'docs', '.vitepress');
const installed = join(here, 'node_modules', '.package-lock.json');
const lock = join(here, 'package-lock.json');

function run(command: string, ...args: readonly string[]): void {
  const shell = process.platform === 'win32';
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', shell });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  console.error('installing VitePress (once) …');
  // It does not need its own install scripts, and no dependency may run one (D-001).
  run('npm', 'ci', '--prefix', here, '--ignore-scripts', '--no-audit', '--no-fund');
}
const vitepress = join(here, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
run(process.execPath, vitepress, process.argv[2] === 'dev' ? 'dev' : 'build', 'docs');
if (process.argv[2] !== 'dev') console.error(`the site is in ${join(here, 'dist')}`);
