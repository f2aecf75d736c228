/** `millrace eval` on the command line. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { collect, ofRuns, type Place, positive, type Subcommand, whole } from '../command.ts';

export const command: Subcommand = {
  about:
    'Evaluate a policy on questions: the paper’s table, as text, JSON and a page with a radar chart.',
  declare: declareEval,
};

async function declareEval(it: Command, { io, done }: Place): Promise<void> {
  const { dialectNames, namedPrompts } = await import('../../jobs/dialects/index.ts');
  const { toolNames } = await import('../../jobs/tools/index.ts');
  const { promptForms } = await import('../../operators/deepAgent/index.ts');
  const { graderNames } = await import('../../operators/metrics/graders/index.ts');
  const { serverNames, textServers, usualServer } = await import(
    '../../model/remote/wires/index.ts'
  );
  const { providers } = await import('../../model/runtime/index.ts');
  ofRuns(it, [
    'millrace eval --policy first --questions runs/first/heldout.csv',
    'millrace eval --policy first@0 --questions runs/first/heldout.csv --rollouts 4',
    'millrace eval --policy models/qwen --questions 2wiki musique math500 --data data --corpus wiki.jsonl \\',
    '    --judge http://host:8000 --judge-model Qwen2.5-72B-Instruct --conciseness --run table',
    'millrace eval --policy http://host:8000 --model my-lora --server vllm --tokenizer models/qwen \\',
    '    --dialect native --tools python,search --corpus wiki.jsonl --questions 2wiki --data data',
    'millrace eval --run table        resumes it, or prints its table again',
  ])
    .option(
      '--policy <PATH|RUN[@version]|URL>',
      'safetensors file, folder, run (its newest weights), or URLs of servers that have it (comma-separated)',
    )
    .option('--model <NAME>', 'with a policy on servers: its name there (see GET /v1/models)')
    .addOption(
      new Option(
        '--server <kind>',
        `with a policy on servers: their kind (default: ${usualServer})`,
      ).choices(serverNames),
    )
    .option('--key-env <NAME>', 'environment variable that holds the servers’ API key')
    .option(
      '--questions <FILE|DATASET...>',
      'files, folders, NAME=FILE, or names of datasets in --data',
    )
    .option('--data <FOLDER>', 'folder in which to look for datasets by name', 'data')
    .option('--limit <N>', 'use only the first N questions of each file (default: 500)', positive)
    .option(
      '--rollouts <n>',
      'rollouts per question (default: 1); more than one gives pass@k',
      positive,
    )
    .option('--greedy', 'temperature 0 (default with one rollout)')
    .option('--temperature <t>', 'default: 0 with one rollout, 1 with more', temperature)
    .option(
      '--top-p <p>',
      'sample from the most probable tokens that add up to this probability',
      share,
    )
    .option('--top-k <k>', 'sample from the k most probable tokens', whole)
    .option(
      '--min-p <p>',
      'sample from tokens with at least this fraction of the highest probability',
      share,
    )
    .option('--repetition-penalty <r>', 'make tokens already in the context less likely', penalty)
    .option(
      '--tools <names>',
      `none, or some of ${toolNames.join(', ')} (default: python, plus search if there is a corpus; with episodes: none)`,
    )
    .option(
      '--corpus <FILE>',
      'documents to search, one {id, title, text} per line (default: the run’s)',
    )
    .option(
      '--files <FOLDER>',
      'folder of the files that questions name (for process_file, visual_question_answering)',
    )
    .option('--vision <URL>', 'OpenAI-compatible server whose model answers questions about images')
    .option('--vision-model <NAME>', 'name of that model on its server')
    .option('--search-top <N>', 'documents per search result (default: 1)', positive)
    .option('--response-max <N>', 'maximum response tokens (default: the run’s, or 320)', positive)
    .option(
      '--call-limit <N>',
      'maximum tool calls per rollout (default: the run’s, or 6)',
      positive,
    )
    .option('--judge <URL|none>', 'OpenAI-compatible server that judges answers (default: none)')
    .option('--judge-model <NAME>', 'name of the judge’s model on that server')
    .addOption(
      new Option('--judge-server <kind>', 'kind of the judge’s server').choices([
        ...textServers,
        'openai',
      ]),
    )
    .option('--judge-key-env <NAME>', 'environment variable that holds the judge’s API key')
    .option(
      '--judge-max-tokens <N>',
      'maximum tokens per verdict (default: 1024); raise it for a model that thinks first',
      positive,
    )
    .addOption(
      new Option(
        '--grader <whose>',
        'how the judge is asked and read: as the papers do, as DeepAgent does, or as each benchmark’s authors do (default: papers; in episodes: deep-agent)',
      ).choices(graderNames),
    )
    .addOption(
      new Option(
        '--equality <how>',
        'how mathematical answers are compared: by normal forms, or also symbolically by math-verify (default: forms)',
      ).choices(['forms', 'math-verify']),
    )
    .option(
      '--against <RUN...>',
      'evaluations of the same questions: prints Tool-Light’s Necessity of this one and each of them',
    )
    .addOption(
      new Option(
        '--episodes <form>',
        'evaluate in DeepAgent’s episodes, with this prompt (default: as in the policy’s run)',
      ).choices(promptForms),
    )
    .option(
      '--environment <URL|none>',
      'OpenEnv server whose environments the questions are asked in, or none (default: that of the policy’s run)',
    )
    .option(
      '--agent <COMMAND>',
      'evaluate your own agent, a program that asks the policy (docs/agents.md); it brings its own tools and prompts',
    )
    .option(
      '--library <FILE>',
      'with episodes: functions that can be called, one OpenAI function per line (default: the run’s, or the questions’ own)',
    )
    .option('--retriever <FOLDER>', 'with episodes: index of these functions (default: by words)')
    .option(
      '--auxiliary <URL>',
      'with episodes: server whose model writes memories and answers calls (default: the policy)',
    )
    .option('--auxiliary-model <NAME>', 'name of that model on its server')
    .option('--conciseness', 'also have the judge vote, ten times per response, on redundant calls')
    .option(
      '--tokenizer <FOLDER>',
      'folder with tokenizer and chat template (default: the policy’s)',
    )
    .addOption(
      new Option(
        '--dialect <name>',
        'how the policy calls tools (default: as in its run, or tags)',
      ).choices(dialectNames),
    )
    .option(
      '--system <FILE|default|none>',
      'system prompt (default: the run’s, or one that explains the tools)',
    )
    .addOption(
      new Option(
        '--prompt <NAME>',
        'system prompt of the papers’ releases by its name, in our words (code-search-cn for xbench)',
      ).choices(namedPrompts),
    )
    .option('--show-prompt [FILE]', 'print the policy’s prompt, or write it to a file, and exit')
    .option(
      '--set <key=value>',
      'set one setting that has no option, such as roles.debugger.url (repeatable; docs/evaluation.md)',
      collect,
    )
    .option('--threads <N>', 'engine threads (default: 2)', positive)
    .addOption(
      new Option('--provider <NAME>', 'device the engine computes on (default: cpu)').choices(
        providers,
      ),
    )
    .option('--run <NAME>', 'name of this evaluation (default: evaluate-1, evaluate-2, …)')
    .option('--seed <N>', 'seed of every random draw (default: 1)', whole)
    .option('--json', 'print one JSON object')
    .action(async (options) => {
      const { evalCommand } = await import('../eval/eval.ts');
      done(await evalCommand(options, io));
    });
}

function temperature(text: string): number {
  const value = numeric(text);
  if (value >= 0) return value;
  throw new InvalidArgumentError('It must be a number, 0 or more.');
}

function share(text: string): number {
  const value = numeric(text);
  if (value > 0 && value <= 1) return value;
  throw new InvalidArgumentError('It must be a number above 0 and at most 1.');
}

function penalty(text: string): number {
  const value = numeric(text);
  if (value > 0) return value;
  throw new InvalidArgumentError('It must be a number above 0.');
}

/** NaN if it is not a number. */
function numeric(text: string): number {
  const value = Number(text);
  return text.trim() !== '' && Number.isFinite(value) ? value : Number.NaN;
}
