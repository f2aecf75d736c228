/** The `millrace model` commands with their options and examples. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Done, whole } from '../command.ts';
import type { Io } from '../io.ts';
import { addTagsCommand, paperTags } from './addTags.ts';
import { convertCommand } from './convert.ts';
import { initCommand } from './init.ts';
import { inspectCommand } from './inspect.ts';
import { ARCHITECTURES, SIZES } from './sizes.ts';
import { dtypeNames } from './writePolicy.ts';

export function addModel(program: Command, io: Io, done: Done): void {
  const model = program
    .command('model')
    .description('Make, look at and convert policies: our one file or Hugging Face folders.');
  addInit(model, io, done);
  addInspect(model, io, done);
  addConvert(model, io, done);
  addAddTags(model, io, done);
}

/** What `--config` stands in place of. */
const PARTS: string[] = [
  'size',
  'architecture',
  'vocab',
  'hidden',
  'layers',
  'heads',
  'kvHeads',
  'headDim',
  'intermediate',
  'positions',
  'ropeTheta',
  'untied',
];

const wherever = 'a name that ends in .safetensors is one file, any other a Hugging Face folder';

function addInit(model: Command, io: Io, done: Done): void {
  const sizes = Object.keys(SIZES);
  model
    .command('init')
    .description('Write a policy with random weights. The same seed gives the same bytes.')
    .argument('<out>', `where to; ${wherever}`)
    .addOption(
      new Option('--size <name>', 'shape to start from; every part can be given in its place')
        .choices(sizes)
        .default('tiny'),
    )
    .addOption(
      new Option(
        '--config <config.json>',
        'shape of a Hugging Face configuration, in place of all of these',
      ).conflicts(PARTS),
    )
    .addOption(new Option('--architecture <name>', 'family').choices(ARCHITECTURES))
    .option('--tokenizer <FOLDER>', 'take its size as the vocabulary, and its files along')
    .option('--vocab <N>', 'tokens', positive)
    .option('--hidden <N>', 'width', positive)
    .option('--layers <N>', 'layers', positive)
    .option('--heads <N>', 'attention heads', positive)
    .option('--kv-heads <N>', 'heads of keys and values', positive)
    .option('--head-dim <N>', 'width of a head (default: width / heads)', positive)
    .option('--intermediate <N>', 'width of the feed-forward layers', positive)
    .option('--positions <N>', 'positions that the policy is made for', positive)
    .option('--rope-theta <N>', 'base of the rotary positions', positive)
    .option('--untied', 'a head of its own, not the embedding')
    .option('--seed <N>', 'seed of the weights', whole, 1)
    .addOption(dtype('f32', dtypeNames))
    .option('--json', 'say what was written as one JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace model init policy.safetensors --size 4m --vocab 64',
        'millrace model init first/ --architecture llama --tokenizer my-tokenizer/ --dtype bf16',
      ),
    )
    .action(async (out: string, options) => done(await initCommand({ ...options, out }, io)));
}

function addInspect(model: Command, io: Io, done: Done): void {
  model
    .command('inspect')
    .description('Say what a policy or a LoRA adapter is, and what is wrong with it (exit code 1).')
    .argument('<path>', 'a file, a Hugging Face folder, the folder of a run, or that of an adapter')
    .option('--json', 'one JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace model inspect first/',
        "millrace model inspect p.safetensors --json | jq '.parameters'",
      ),
    )
    .action(async (path: string, options) => done(await inspectCommand({ ...options, path }, io)));
}

function addConvert(model: Command, io: Io, done: Done): void {
  model
    .command('convert')
    .description('Write a policy in another form or number format, or with an adapter merged.')
    .argument('<from>', 'a file, a Hugging Face folder, or the folder of a run')
    .argument('<to>', `where to; ${wherever}`)
    .addOption(dtype('keep', [...dtypeNames, 'keep']))
    .option('--adapter <FOLDER>', 'LoRA adapter (PEFT) to merge')
    .addOption(
      new Option(
        '--peft',
        'the adapter that a run trained by itself, as a folder for PEFT, vLLM and SGLang',
      ).conflicts(['adapter', 'tokenizer', 'shardBytes']),
    )
    .option(
      '--base <NAME>',
      'with --peft: the base model that the adapter names (default: its path here)',
    )
    .option('--tokenizer <FOLDER>', 'tokenizer files to put into the folder')
    .option('--shard-bytes <N>', 'bytes of weights from which a new shard begins', positive)
    .option('--json', 'say what was written as one JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace model convert runs/first tuned/ --dtype bf16',
        'millrace model convert runs/first@12 v12/',
        'millrace model convert runs/first adapter/ --peft --base Qwen/Qwen2.5-0.5B-Instruct',
        'millrace model convert base/ merged/ --adapter adapter/',
        'millrace model convert SmolLM2-135M/ smol.safetensors',
      ),
    )
    .action(async (from: string, to: string, options) =>
      done(await convertCommand({ ...options, from, to }, io)),
    );
}

function addAddTags(model: Command, io: Io, done: Done): void {
  model
    .command('add-tags')
    .description('Write a checkpoint with the tags of trajectories as tokens of their own.')
    .argument('<from>', 'a Hugging Face folder')
    .argument('<to>', 'where to; a new folder')
    .option('--tags <names>', 'tags, each of which opens and closes', paperTags)
    .option('--json', 'say what was written as one JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace model add-tags Qwen2.5-3B-Instruct/ qwen-tags/',
        'millrace model add-tags base/ tagged/ --tags think,browse,result,answer',
      ),
    )
    .action(async (from: string, to: string, options) =>
      done(await addTagsCommand({ ...options, from, to }, io)),
    );
}

function dtype(otherwise: string, choices: readonly string[]): Option {
  return new Option('--dtype <format>', 'number format of the weights')
    .choices(choices)
    .default(otherwise);
}

function examples(...lines: readonly string[]): string {
  return `\n${lines.length > 1 ? 'Examples' : 'Example'}:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

function positive(text: string): number {
  const value = whole(text);
  if (value > 0) return value;
  throw new InvalidArgumentError('It must be a whole number, 1 or more.');
}
