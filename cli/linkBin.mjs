// Puts this checkout's own `millrace` where npx looks first; npm links the commands of dependencies only.
import { chmodSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bin = join(root, 'node_modules', '.bin');
const main = join(root, 'dist', 'cli', 'main.js');

if (process.platform !== 'win32') {
  mkdirSync(bin, { recursive: true });
  rmSync(join(bin, 'millrace'), { force: true });
  symlinkSync(relative(bin, main), join(bin, 'millrace'));
  chmodSync(main, 0o755);
}
