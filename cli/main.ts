#!/usr/bin/env node
/** The `millrace` command. The exit codes are in `failure.ts`. */
import { openFilesMax } from '../base/platform.ts';
import { outOfFiles } from '../base/systemError.ts';
import { failure } from './failure.ts';

/** Its modules are read many at once; with fewer some of them look as if they were not there. */
const OPEN_FILES_MIN = 320;

/** What nobody has caught. Where no file can be opened any more, that is why, whatever it says (a module that is not there). */
function ends(error: unknown): void {
  const { code, message } = failure(outOfFiles() ?? error);
  process.stderr.write(`${message}\n`);
  process.exit(code);
}

if (openFilesMax !== null && openFilesMax < OPEN_FILES_MIN) {
  process.stderr.write(
    `error: this process may have ${openFilesMax} files open, and needs ${OPEN_FILES_MIN}: raise the limit (ulimit -n 4096) and give the same command again\n`,
  );
  process.exitCode = 1;
} else {
  process.on('uncaughtException', ends);
  const [{ processIo }, { main }, { quietLmdb, quietWarnings }] = await Promise.all([
    import('./processIo.ts'),
    import('./program.ts'),
    import('./quietWarnings.ts'),
  ]);
  quietWarnings(process);
  quietLmdb(console);
  const code = await main(process.argv.slice(2), processIo());
  // What a job left open (a stuck worker, say) must not keep the command alive.
  process.stdout.write('', () => process.exit(code));
}
