/** File systems that refuse to be written to, where the machine lets a test mount one (root, Linux). */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';

/** Why nothing can be mounted here; null if it can. */
export const noMounts: string | null = reason();

/** A file system in memory with these options (`ro`, `size=3m`), from now until `remove`. */
export function mounted(options: string): { readonly path: string; remove(): void } {
  const folder = temporaryFolder();
  const path = join(folder.path, 'mounted');
  mkdirSync(path);
  const { status, stderr } = mount('-t', 'tmpfs', '-o', options, 'none', path);
  if (status !== 0) throw new Error(`mount: ${stderr}`);
  return {
    path,
    remove() {
      spawnSync('umount', ['--lazy', path]);
      rmSync(folder.path, { recursive: true, force: true });
    },
  };
}

function mount(...args: readonly string[]) {
  return spawnSync('mount', args, { encoding: 'utf8' });
}

function reason(): string | null {
  if (process.platform !== 'linux') return `mounts are tried on Linux, this is ${process.platform}`;
  try {
    mounted('ro').remove();
    return null;
  } catch (error) {
    return String(error);
  }
}
