/** `millrace set`, `pause`, `resume` and `stop` on the command line: their options and examples. */
import type { Command } from 'commander';
import { command, type Done, onRun } from '../command.ts';
import type { Io } from '../io.ts';
import { type ControlOptions, pauseCommand, setCommand, stopCommand } from './control.ts';

export function addControl(program: Command, io: Io, done: Done): void {
  const set = command(
    program,
    'set',
    'Change settings of a run while it is running; with none given, list the changes so far (docs/forever.md).',
    ['millrace set live temperature=0.8 concurrency=48', 'millrace set live'],
  )
    .argument('<run>', 'the run')
    .argument('[key=value...]', 'settings to change')
    .option('--json', 'print one JSON object');
  set.action(async (run: string, settings: readonly string[], options) =>
    done(await setCommand({ ...options, run, settings }, io)),
  );
  const pause = command(
    program,
    'pause',
    'Pause a run: it finishes what is in flight and starts nothing new until resumed.',
    ['millrace pause live'],
  ).option('--json', 'print one JSON object');
  onRun(pause, (options: ControlOptions, of) => pauseCommand('pause', options, of), io, done);
  const resume = command(program, 'resume', 'Resume a paused run.', [
    'millrace resume live',
  ]).option('--json', 'print one JSON object');
  onRun(resume, (options: ControlOptions, of) => pauseCommand('resume', options, of), io, done);
  const stop = command(
    program,
    'stop',
    'Stop a run cleanly, as Ctrl-C in its terminal does, and wait until it has stopped.',
    ['millrace stop live'],
  )
    .option('--no-wait', 'do not wait until it has stopped')
    .option('--json', 'print one JSON object');
  onRun(stop, stopCommand, io, done);
}
