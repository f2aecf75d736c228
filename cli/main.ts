#!/usr/bin/env node
/** The `millrace` command. The exit codes are in `failure.ts`. */
import { processIo } from './processIo.ts';
import { main } from './program.ts';
import { quietWarnings } from './quietWarnings.ts';

quietWarnings(process);
const code = await main(process.argv.slice(2), processIo());
// What a job left open (a stuck worker, say) must not keep the command alive.
process.stdout.write('', () => process.exit(code));
