/** `millrace retriever …` on the command line. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { fusionMethods } from '../../operators/tools/retrieval/fusedRetriever.ts';
import { type Done, port, whole } from '../command.ts';
import type { Io } from '../io.ts';
import { buildCommand } from './build.ts';
import { serveCommand } from './serve.ts';

/** So few passages are compared with a query in 5 ms (384 dimensions); a graph would take a tenth of that, and may miss one. */
const EXACT_MAX = 10_000;
const GRAPH_MAX = 500_000;
/** The papers' scripts look for it here. */
const PORT = 1243;

export function addRetriever(program: Command, io: Io, done: Done): void {
  const retriever = program
    .command('retriever')
    .description('Passages of a corpus by meaning and by words (docs/retrieval.md).');
  addBuild(retriever, io, done);
  addServe(retriever, io, done);
}

function addBuild(retriever: Command, io: Io, done: Done): void {
  retriever
    .command('build')
    .description(
      'Encode the passages of a corpus and build an index of them in a folder. The corpus is read to its end first; lines that are no passage are named and left out. Ctrl-C stops it, and the same command goes on where it stopped.',
    )
    .argument(
      '<corpus>',
      'JSON Lines (also .jsonl.gz), Parquet, CSV or a JSON array: id and contents, or id, title and text; or a library of functions',
    )
    .requiredOption(
      '--encoder <FOLDER>',
      'a Hugging Face encoder: E5, BGE, or another of the kinds BERT and XLM-RoBERTa, or with an onnx/model.onnx',
    )
    .option(
      '--to <PLACE>',
      'where the index is built, or qdrant://host:6333/collection (default: the corpus’ name, ending in .index)',
    )
    .addOption(
      new Option(
        '--pooling <HOW>',
        'how the vectors of tokens become one (default: as the folder says)',
      ).choices(['mean', 'cls']),
    )
    .option('--query-prefix <TEXT>', 'put before a query (default: as E5 and BGE were trained)')
    .option('--passage-prefix <TEXT>', 'put before a passage (default: as E5 was trained)')
    .option('--no-normalise', 'leave vectors as long as they come; scores are no cosines then')
    .option('--tokens <N>', 'cut longer texts (default: what the encoder takes)', atLeastOne)
    .option('--threads <N>', 'of the processor (default: half of what there is)', atLeastOne)
    .option(
      '--exact <N>',
      'a corpus of at most so many passages is compared with every query as a whole',
      whole,
      EXACT_MAX,
    )
    .option('--graph <N>', 'most passages in one graph', atLeastOne, GRAPH_MAX)
    .addHelpText(
      'after',
      '\nExamples:\n  millrace retriever build wiki.jsonl --encoder e5-base-v2\n  millrace retriever build wiki.jsonl --encoder bge-base-en-v1.5 --to wiki-index --threads 8',
    )
    .action(async (corpus: string, options) =>
      done(await buildCommand({ ...options, corpus }, io)),
    );
}

function addServe(retriever: Command, io: Io, done: Done): void {
  retriever
    .command('serve')
    .description(
      'Answer queries over HTTP: POST /retrieve, /search and /batch_search as the papers’ scripts send them; /healthz, /readyz, /metrics. SIGTERM ends it when it has answered what it took.',
    )
    .argument(
      '<index>',
      'folder of an index (millrace retriever build), qdrant://host:6333/collection, or a corpus file, searched by its words',
    )
    .addOption(
      new Option(
        '--fusion <HOW>',
        'search words beside the index, and fuse what both find by reciprocal ranks or weighted scores',
      ).choices(fusionMethods),
    )
    .option('--corpus <FILE>', 'the corpus of these words (default: the passages of the index)')
    .addOption(
      new Option('--dense-weight <W>', 'weight of meaning in weighted scores, 0 to 1')
        .argParser(share)
        .default(0.5),
    )
    .option(
      '--encoder <FOLDER>',
      'the encoder, where it lies elsewhere than when the index was built',
    )
    .addOption(
      new Option('--port <N>', 'where to listen (0: any free port)').argParser(port).default(PORT),
    )
    .option(
      '--host <ADDRESS>',
      'address to listen at; another than this machine’s own needs a token',
      '127.0.0.1',
    )
    .option(
      '--no-token',
      'let everybody who reaches it ask; else MILLRACE_RETRIEVER_TOKEN is asked for where it is set',
    )
    .option('--top <N>', 'passages where a request does not say how many', atLeastOne, 10)
    .option('--timeout <SECONDS>', 'for one request, waiting included', atLeastOne, 30)
    .option('--batch <N>', 'most queries that are answered together', atLeastOne, 64)
    .option('--concurrency <N>', 'batches at once', atLeastOne, 2)
    .option('--queue <N>', 'queries that may wait; more are answered 429', atLeastOne, 1024)
    .addHelpText(
      'after',
      '\nExamples:\n  millrace retriever serve wiki-index\n  millrace retriever serve wiki-index --fusion rrf --port 8000',
    )
    .action(async (index: string, options) => done(await serveCommand({ ...options, index }, io)));
}

function atLeastOne(text: string): number {
  const value = whole(text);
  if (value >= 1) return value;
  throw new InvalidArgumentError('It must be a whole number, 1 or more.');
}

function share(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 1.');
}
