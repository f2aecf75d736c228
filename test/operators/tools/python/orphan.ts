/** Starts a sandbox, prints its process id, and leaves it with a program that never looks at the clock. */
import { Sandbox } from '../../../../operators/tools/python/sandbox.ts';

const limits = {
  timeoutMs: 600_000,
  memoryMaxMiB: 64,
  outputMax: 10,
  printNone: false,
  packages: [],
};
const sandbox = await Sandbox.start(limits);
if (process.argv[2] === 'busy') void sandbox.run('import itertools\nsum(itertools.repeat(1))');
else setInterval(() => undefined, 1000);
console.log(sandbox.pid);
