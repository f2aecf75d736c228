#!/usr/bin/env node
/** The `millrace` command. The exit codes are in `failure.ts`. */
import { openFilesMax, outOfFiles } from '../base/system/index.ts';

/**
 * Many modules are read at once; with few file descriptors, some would seem not to exist. Read only a few
 * until the limit is known.
 */
const OPEN_FILES_MIN = 320;

if (openFilesMax !== null && openFilesMax < OPEN_FILES_MIN) {
  process.stderr.write(
    `error: this process may open only ${openFilesMax} files and needs ${OPEN_FILES_MIN}: raise the limit (ulimit -n 4096) and repeat the command\n`,
  );
  process.exitCode = 1;
} else {
  const { failure } = await import('./failure.ts');
  // If no file can be opened any more, that is the reason, whatever the error says (a missing module).
  process.on('uncaughtException', (error) => {
    const { code, message } = failure(outOfFiles() ?? error);
    process.stderr.write(`${message}\n`);
    process.exit(code);
  });
  const [{ processIo }, { main }, { quietLmdb, quietWarnings }] = await Promise.all([
    import('./processIo.ts'),
    import('./program.ts'),
    import('./quietWarnings.ts'),
  ]);
  quietWarnings(process);
  quietLmdb(console);
  const code = await main(process.argv.slice(2), processIo());
  // Whatever a job left open (a stuck worker, for example) must not keep the command alive.
  process.stdout.write('', () => process.exit(code));
}
