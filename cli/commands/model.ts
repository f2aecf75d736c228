/** `millrace model …` on the command line. */
import { type Command, Option } from 'commander';
import { examplesText, type Place, positive, type Subcommand, whole } from '../command.ts';

export const command: Subcommand = {
  about:
    'Download, create, inspect and convert policies: single safetensors files or Hugging Face folders.',
  declare: declareModel,
};

async function declareModel(model: Command, place: Place): Promise<void> {
  const { dtypeNames } = await import('../model/writePolicy.ts');
  const sizes = await import('../model/sizes.ts');
  addPull(model, place);
  addInit(model, place, { dtypeNames, ...sizes });
  addInspect(model, place);
  addConvert(model, place, dtypeNames);
  addAddTags(model, place);
}

type InitChoices = Pick<typeof import('../model/sizes.ts'), 'SIZES' | 'ARCHITECTURES'> & {
  readonly dtypeNames: readonly string[];
};

/** The flags that `--config` replaces. */
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

/** The tags of the papers. */
const PAPER_TAGS = 'think,search,python,result,answer';

const wherever = 'a name ending in .safetensors means one file, any other a Hugging Face folder';

function addPull(model: Command, { io, done }: Place): void {
  model
    .command('pull')
    .description(
      'Download a model from the Hugging Face Hub into its cache, and print where it is.\n' +
        'Repeat the command to resume. HF_TOKEN, HF_ENDPOINT, HF_HOME and HF_HUB_CACHE are respected.',
    )
    .argument('<name>', 'its name on the Hub; @ and a branch, tag or commit may follow')
    .argument('[folder]', 'put its files into this folder instead of the cache')
    .addHelpText(
      'after',
      examplesText([
        'millrace model pull Qwen/Qwen2.5-0.5B-Instruct',
        'millrace run arpo --set policy=$(millrace model pull Qwen/Qwen2.5-0.5B-Instruct@main) …',
        'millrace model pull intfloat/e5-base-v2 models/e5-base-v2',
      ]),
    )
    .action(async (name: string, folder: string | undefined) => {
      const { pullCommand } = await import('../model/pull.ts');
      done(await pullCommand({ name, ...(folder === undefined ? {} : { folder }) }, io));
    });
}

function addInit(
  model: Command,
  { io, done }: Place,
  { dtypeNames, SIZES, ARCHITECTURES }: InitChoices,
): void {
  const sizes = Object.keys(SIZES);
  model
    .command('init')
    .description('Create a policy with random weights. The same seed gives the same bytes.')
    .argument('<out>', `output; ${wherever}`)
    .addOption(
      new Option('--size <name>', 'shape to start from; the options below override its parts')
        .choices(sizes)
        .default('tiny'),
    )
    .addOption(
      new Option(
        '--config <config.json>',
        'take the shape from a Hugging Face configuration instead',
      ).conflicts(PARTS),
    )
    .addOption(new Option('--architecture <name>', 'architecture').choices(ARCHITECTURES))
    .option(
      '--tokenizer <FOLDER>',
      'take the vocabulary size from this tokenizer, and copy its files',
    )
    .option('--vocab <N>', 'vocabulary size', positive)
    .option('--hidden <N>', 'hidden size', positive)
    .option('--layers <N>', 'layers', positive)
    .option('--heads <N>', 'attention heads', positive)
    .option('--kv-heads <N>', 'key and value heads', positive)
    .option('--head-dim <N>', 'size of a head (default: hidden size / heads)', positive)
    .option('--intermediate <N>', 'size of the feed-forward layers', positive)
    .option('--positions <N>', 'maximum positions', positive)
    .option('--rope-theta <N>', 'base of the rotary position embedding', positive)
    .option('--untied', 'give the output head its own weights instead of the embedding’s')
    .option('--seed <N>', 'random seed of the weights', whole, 1)
    .addOption(dtype('f32', dtypeNames))
    .option('--json', 'describe the output as one JSON object')
    .addHelpText(
      'after',
      examplesText([
        'millrace model init policy.safetensors --size 4m --vocab 64',
        'millrace model init first/ --architecture llama --tokenizer my-tokenizer/ --dtype bf16',
      ]),
    )
    .action(async (out: string, options) => {
      const { initCommand } = await import('../model/init.ts');
      done(await initCommand({ ...options, out }, io));
    });
}

function addInspect(model: Command, { io, done }: Place): void {
  model
    .command('inspect')
    .description('Describe a policy or a LoRA adapter and report problems (exit code 1).')
    .argument('<path>', 'a file, a Hugging Face folder, a run’s folder or an adapter’s folder')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      examplesText([
        'millrace model inspect first/',
        "millrace model inspect p.safetensors --json | jq '.parameters'",
      ]),
    )
    .action(async (path: string, options) => {
      const { inspectCommand } = await import('../model/inspect.ts');
      done(await inspectCommand({ ...options, path }, io));
    });
}

function addConvert(model: Command, { io, done }: Place, dtypeNames: readonly string[]): void {
  model
    .command('convert')
    .description(
      'Convert a policy to another layout or number format, or merge an adapter into it.',
    )
    .argument('<from>', 'a file (safetensors or GGUF), a Hugging Face folder or a run’s folder')
    .argument('<to>', `output; ${wherever}`)
    .addOption(dtype('keep', [...dtypeNames, 'keep']))
    .option('--adapter <FOLDER>', 'LoRA adapter (PEFT) to merge')
    .addOption(
      new Option(
        '--peft',
        'write only the adapter that a run trained, as a folder for PEFT, vLLM and SGLang',
      ).conflicts(['adapter', 'tokenizer', 'shardBytes']),
    )
    .option(
      '--base <NAME>',
      'with --peft: base model to name in the adapter (default: its path here)',
    )
    .option('--tokenizer <FOLDER>', 'folder of tokenizer files to copy into the output')
    .option('--shard-bytes <N>', 'maximum bytes of weights per shard', positive)
    .option('--json', 'describe the output as one JSON object')
    .addHelpText(
      'after',
      examplesText([
        'millrace model convert runs/first tuned/ --dtype bf16',
        'millrace model convert runs/first@12 v12/',
        'millrace model convert runs/first adapter/ --peft --base Qwen/Qwen2.5-0.5B-Instruct',
        'millrace model convert base/ merged/ --adapter adapter/',
        'millrace model convert SmolLM2-135M/ smol.safetensors',
        'millrace model convert SmolLM2-135M-Instruct.Q8_0.gguf smol/',
      ]),
    )
    .action(async (from: string, to: string, options) => {
      const { convertCommand } = await import('../model/convert.ts');
      done(await convertCommand({ ...options, from, to }, io));
    });
}

function addAddTags(model: Command, { io, done }: Place): void {
  model
    .command('add-tags')
    .description('Write a checkpoint in which the tags of trajectories are single tokens.')
    .argument('<from>', 'a Hugging Face folder')
    .argument('<to>', 'output; a new folder')
    .option(
      '--tags <names>',
      'names of the tags; each becomes an opening and a closing token',
      PAPER_TAGS,
    )
    .option('--json', 'describe the output as one JSON object')
    .addHelpText(
      'after',
      examplesText([
        'millrace model add-tags Qwen2.5-3B-Instruct/ qwen-tags/',
        'millrace model add-tags base/ tagged/ --tags think,browse,result,answer',
      ]),
    )
    .action(async (from: string, to: string, options) => {
      const { addTagsCommand } = await import('../model/addTags.ts');
      done(await addTagsCommand({ ...options, from, to }, io));
    });
}

function dtype(otherwise: string, choices: readonly string[]): Option {
  return new Option('--dtype <format>', 'number format of the weights')
    .choices(choices)
    .default(otherwise);
}
