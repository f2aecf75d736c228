/** `millrace pack` and `millrace unpack` on the command line. */
import type { Command } from 'commander';
import { command, type Done, onRun } from '../command.ts';
import type { Io } from '../io.ts';
import { packCommand } from './pack.ts';
import { unpackCommand } from './unpack.ts';

export function addPack(program: Command, io: Io, done: Done): void {
  const pack = command(program, 'pack', 'Put a run into one file, to be looked at elsewhere.', [
    'millrace pack first',
    'millrace pack first -o /tmp/first.tar.gz --no-weights',
  ])
    .option('-o, --output <FILE>', 'the archive (default: <run>.tar.gz here)')
    .option('--no-weights', 'leave the checkpoints out');
  onRun(pack, packCommand, io, done);
  command(program, 'unpack', 'Put a packed run among the runs, once its digests were checked.', [
    'millrace unpack first.tar.gz',
    'millrace unpack first.tar.gz --into theirs',
  ])
    .argument('<file>', 'what millrace pack has made')
    .option('--into <NAME>', 'another name for the run')
    .option(
      '--trust',
      'the run is your own: it may be resumed, and what it names (job file, tool servers, addresses) may be executed and asked',
    )
    .action(async (file: string, options) => done(await unpackCommand({ ...options, file }, io)));
}
