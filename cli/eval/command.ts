/** The `millrace eval` command with its options and examples. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { dialectNames } from '../../jobs/parts/dialectOf.ts';
import { providers } from '../../model/runtime/provider.ts';
import { command, type Done, whole } from '../command.ts';
import type { Io } from '../io.ts';
import { evalCommand } from './eval.ts';

export function addEval(program: Command, io: Io, done: Done): void {
  command(
    program,
    'eval',
    'Measure a policy on questions: the paper’s table, as text, JSON and a page with a radar chart.',
    [
      'millrace eval --policy quickstart-1 --questions runs/quickstart-1/heldout.csv',
      'millrace eval --policy quickstart-1@0 --questions runs/quickstart-1/heldout.csv --rollouts 4',
      'millrace eval --policy models/qwen --questions 2wiki musique math500 --data data --corpus wiki.jsonl \\',
      '    --judge http://host:8000 --judge-model Qwen2.5-72B-Instruct --conciseness --run table',
      'millrace eval --policy http://host:8000 --model my-lora --server vllm --tokenizer models/qwen \\',
      '    --dialect native --tools python,search --corpus wiki.jsonl --questions 2wiki --data data',
      'millrace eval --run table        resumes it, or prints its table again',
    ],
  )
    .option(
      '--policy <PATH|RUN[@version]|URL>',
      'safetensors file, folder, run (its newest weights), or servers that have it (comma-separated)',
    )
    .option('--model <NAME>', 'of a policy on servers: its name there (GET /v1/models)')
    .addOption(
      new Option(
        '--server <kind>',
        'of a policy on servers: what they are (default: vllm)',
      ).choices(['vllm', 'sglang']),
    )
    .option('--key-env <NAME>', 'environment variable with the servers’ API key')
    .option(
      '--questions <FILE|DATASET...>',
      'questions: files, folders, NAME=FILE, or names found in --data',
    )
    .option('--data <FOLDER>', 'where datasets are found by their names', 'data')
    .option('--limit <N>', 'only the first N questions of each file (default: 500)', positive)
    .option('--rollouts <n>', 'rollouts of each question (default: 1); more give pass@k', positive)
    .option('--greedy', 'temperature 0 (the default for one rollout)')
    .option('--temperature <t>', 'default: 0 for one rollout, 1 for more', temperature)
    .option(
      '--top-p <p>',
      'sample from the most probable tokens that together have this probability',
      share,
    )
    .option('--top-k <k>', 'sample from the k most probable tokens', whole)
    .option(
      '--min-p <p>',
      'sample from tokens with at least this part of the highest probability',
      share,
    )
    .option('--repetition-penalty <r>', 'makes tokens of the context less likely', penalty)
    .option('--tools <names>', 'none, or python,search (default: python, and search with a corpus)')
    .option('--corpus <FILE>', 'documents to search, {id, title, text} a line; default: the run’s')
    .option('--search-top <N>', 'documents in a search result (default: 1)', positive)
    .option('--response-max <N>', 'most response tokens (default: the run’s, or 320)', positive)
    .option('--call-limit <N>', 'most tool calls a rollout (default: the run’s, or 6)', positive)
    .option('--judge <URL|none>', 'OpenAI-compatible server that judges answers (default: none)')
    .option('--judge-model <NAME>', 'the model on that server')
    .addOption(
      new Option('--judge-server <kind>', 'which extensions it has').choices([
        'vllm',
        'sglang',
        'openai',
      ]),
    )
    .option('--judge-key-env <NAME>', 'environment variable with its API key')
    .option(
      '--judge-max-tokens <N>',
      'most tokens of a reply of its (default: 1024); more for one that thinks first',
      positive,
    )
    .option('--conciseness', 'the judge also votes, ten times a response, on redundant calls')
    .option('--tokenizer <FOLDER>', 'tokenizer and chat template (default: beside the policy)')
    .addOption(
      new Option(
        '--dialect <name>',
        'how the policy calls tools (default: as in its run, else tags)',
      ).choices(dialectNames),
    )
    .option(
      '--system <FILE|default|none>',
      'system prompt (default: that of the run; else one that explains the tools)',
    )
    .option(
      '--show-prompt [FILE]',
      'show the prompt that the policy is asked with, or write it to a file; run nothing',
    )
    .option('--threads <N>', 'threads of the engine (default: 2)', positive)
    .addOption(
      new Option('--provider <NAME>', 'what the engine computes on (default: cpu)').choices(
        providers,
      ),
    )
    .option('--run <NAME>', 'name of this evaluation (default: evaluate with a number)')
    .option('--seed <N>', 'seed of every random draw (default: 1)', whole)
    .option('--json', 'one JSON object')
    .action(async (options) => done(await evalCommand(options, io)));
}

function positive(text: string): number {
  const value = whole(text);
  if (value > 0) return value;
  throw new InvalidArgumentError('It must be 1 or more.');
}

function temperature(text: string): number {
  const value = numeric(text);
  if (value >= 0) return value;
  throw new InvalidArgumentError('It must be a number, 0 or more.');
}

function share(text: string): number {
  const value = numeric(text);
  if (value > 0 && value <= 1) return value;
  throw new InvalidArgumentError('It must be a number above 0, at most 1.');
}

function penalty(text: string): number {
  const value = numeric(text);
  if (value > 0) return value;
  throw new InvalidArgumentError('It must be a number above 0.');
}

/** NaN for what is no number. */
function numeric(text: string): number {
  const value = Number(text);
  return text.trim() !== '' && Number.isFinite(value) ? value : Number.NaN;
}
