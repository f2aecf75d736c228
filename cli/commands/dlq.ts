/** `millrace dlq …` on the command line. */
import type { Command } from 'commander';
import { aRun, ofRuns, type Place, type Subcommand, whole } from '../command.ts';
import type { DlqOptions } from '../dlq/dlq.ts';
import type { Io } from '../io.ts';

export const command: Subcommand = {
  about: 'Show and retry the dead letters of a run: what could not be read or processed, and why.',
  declare: declareDlq,
};

function declareDlq(dlq: Command, { io, done }: Place): void {
  const add = (
    name: string,
    about: string,
    examples: readonly string[],
    load: () => Promise<(options: DlqOptions, io: Io) => Promise<number>>,
  ): void => {
    ofRuns(dlq.command(name).description(about), examples)
      .argument('[run]', aRun['[run]'])
      .argument('[numbers...]', 'only these, by their numbers in the list')
      .option('--json', 'print one JSON object per letter')
      .action(async (run: string | undefined, numbers: readonly string[], options) => {
        const named = run === undefined ? {} : { run };
        const act = await load();
        done(await act({ ...options, ...named, numbers: numbers.map(whole) }, io));
      });
  };
  add(
    'ls',
    'List dead letters.',
    ['millrace dlq ls first'],
    async () => (await import('../dlq/dlq.ts')).dlqList,
  );
  add(
    'show',
    'Show dead letters in full.',
    ['millrace dlq show first 3'],
    async () => (await import('../dlq/dlq.ts')).dlqShow,
  );
  add(
    'retry',
    'Put rows back into the run after you have fixed the questions files.',
    ['millrace dlq retry first', 'millrace dlq retry first 3 4'],
    async () => (await import('../dlq/dlq.ts')).dlqRetry,
  );
}
