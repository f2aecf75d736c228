/** `millrace pack` and `millrace unpack` on the command line. */
import type { Command } from 'commander';
import { command, type Done, onRun } from '../command.ts';
import type { Io } from '../io.ts';
import { packCommand } from './pack.ts';
import { unpackCommand } from './unpack.ts';

export function addPack(program: Command, io: Io, done: Done): void {
  const pack = command(
    program,
    'pack',
    'Pack a run into one file, to inspect it on another machine.',
    ['millrace pack first', 'millrace pack first -o /tmp/first.tar.gz --no-weights'],
  )
    .option('-o, --output <FILE>', 'archive to write (default: <run>.tar.gz)')
    .option('--no-weights', 'omit the checkpoints');
  onRun(pack, packCommand, io, done);
  command(program, 'unpack', 'Check a packed run and add it to the runs.', [
    'millrace unpack first.tar.gz',
    'millrace unpack first.tar.gz --into theirs',
  ])
    .argument('<file>', 'archive written by millrace pack')
    .option('--into <NAME>', 'name for the run (default: its own)')
    .option(
      '--trust',
      'treat the run as your own: allow resuming it, and executing or contacting what it names (job file, tool servers, addresses)',
    )
    .action(async (file: string, options) => done(await unpackCommand({ ...options, file }, io)));
}
