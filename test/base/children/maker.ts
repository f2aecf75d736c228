/** A process that makes an unfinished file and a scratch folder, says so, and waits to be killed. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratchName, unfinished } from '../../../base/leftovers.ts';

const [folder = ''] = process.argv.slice(2);
writeFileSync(unfinished(join(folder, '000001.safetensors')), 'half');
const scratch = join(folder, scratchName('pack', 'mine'));
mkdirSync(scratch);
writeFileSync(join(scratch, 'run.json'), 'half of it');
console.log('made');
setInterval(() => undefined, 1000);
