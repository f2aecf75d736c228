/** `millrace retriever …` on the command line. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { examplesText, type Place, port, positive, type Subcommand, whole } from '../command.ts';

/**
 * Comparing a query with this many passages takes 5 ms (384 dimensions); a graph takes a tenth of that but
 * may miss one.
 */
const EXACT_MAX = 10_000;
const GRAPH_MAX = 500_000;
/** Where the papers' scripts expect it. */
const PORT = 1243;

export const command: Subcommand = {
  about:
    'Build and serve an index that finds passages by meaning and by words (docs/retrieval.md).',
  declare: declareRetriever,
};

async function declareRetriever(retriever: Command, place: Place): Promise<void> {
  const { fusionMethods } = await import('../../operators/tools/retrieval/index.ts');
  addBuild(retriever, place);
  addImport(retriever, place);
  addServe(retriever, place, fusionMethods);
}

function addBuild(retriever: Command, { io, done }: Place): void {
  retriever
    .command('build')
    .description(
      'Encode the passages of a corpus and build an index of them in a folder. Lines that are not passages are reported and skipped. Ctrl-C stops it; repeat the command to resume.',
    )
    .argument(
      '<corpus>',
      'JSON Lines (or .jsonl.gz), Parquet, CSV or a JSON array, with id and contents or id, title and text; or a library of functions',
    )
    .requiredOption(
      '--encoder <FOLDER>',
      'Hugging Face encoder: E5, BGE, any other BERT or XLM-RoBERTa, or one with onnx/model.onnx',
    )
    .option(
      '--to <PLACE>',
      'folder for the index, or qdrant://host:6333/collection (default: the corpus’ name with .index)',
    )
    .addOption(
      new Option(
        '--pooling <HOW>',
        'how token vectors become one vector (default: as the encoder’s folder says)',
      ).choices(['mean', 'cls']),
    )
    .option(
      '--query-prefix <TEXT>',
      'text to put before each query (default: as E5 and BGE were trained)',
    )
    .option(
      '--passage-prefix <TEXT>',
      'text to put before each passage (default: as E5 was trained)',
    )
    .option('--no-normalise', 'do not scale vectors to length 1; scores are then not cosines')
    .option(
      '--tokens <N>',
      'cut texts to this many tokens (default: the encoder’s maximum)',
      positive,
    )
    .option('--threads <N>', 'threads (default: half of the processor’s)', positive)
    .option(
      '--exact <N>',
      'compare queries with every passage if the corpus has at most this many',
      whole,
      EXACT_MAX,
    )
    .option('--graph <N>', 'maximum passages per graph', positive, GRAPH_MAX)
    .addHelpText(
      'after',
      examplesText([
        'millrace retriever build wiki.jsonl --encoder e5-base-v2',
        'millrace retriever build wiki.jsonl --encoder bge-base-en-v1.5 --to wiki-index --threads 8',
      ]),
    )
    .action(async (corpus: string, options) => {
      const { buildCommand } = await import('../retriever/build.ts');
      done(await buildCommand({ ...options, corpus }, io));
    });
}

function addImport(retriever: Command, { io, done }: Place): void {
  retriever
    .command('import')
    .description(
      'Make an index folder from a flat FAISS index and its corpus, without encoding it again. The corpus must have a passage for each vector, in the same order.',
    )
    .requiredOption('--faiss <FILE>', 'flat index: IndexFlatIP, or IndexFlatL2 of unit vectors')
    .requiredOption('--corpus <FILE>', 'its corpus, in any form that build reads')
    .requiredOption(
      '--encoder <FOLDER>',
      'Hugging Face encoder that made the vectors; it encodes the queries',
    )
    .option('--to <FOLDER>', 'folder for the index (default: the corpus’ name with .index)')
    .option('--threads <N>', 'threads (default: half of the processor’s)', positive)
    .option(
      '--exact <N>',
      'compare queries with every passage if the corpus has at most this many',
      whole,
      EXACT_MAX,
    )
    .option('--graph <N>', 'maximum passages per graph', positive, GRAPH_MAX)
    .addHelpText(
      'after',
      examplesText([
        'millrace retriever import --faiss e5_Flat.index --corpus wiki_dump.jsonl --encoder e5-base-v2',
      ]),
    )
    .action(async (options) => {
      const { buildCommand } = await import('../retriever/build.ts');
      done(await buildCommand({ ...options, normalise: true }, io));
    });
}

function addServe(retriever: Command, { io, done }: Place, fusionMethods: readonly string[]): void {
  retriever
    .command('serve')
    .description(
      'Answer queries over HTTP: POST /retrieve, /search and /batch_search, as the papers’ scripts send them; also /healthz, /readyz and /metrics. On SIGTERM it finishes accepted requests and exits.',
    )
    .argument(
      '<index>',
      'index folder (millrace retriever build), qdrant://host:6333/collection, or a corpus file, which is searched by words',
    )
    .addOption(
      new Option(
        '--fusion <HOW>',
        'also search by words, and fuse both results by reciprocal ranks or weighted scores',
      ).choices(fusionMethods),
    )
    .option(
      '--corpus <FILE>',
      'corpus for the search by words (default: the passages of the index)',
    )
    .addOption(
      new Option('--dense-weight <W>', 'weight of the index in weighted scores, 0 to 1')
        .argParser(share)
        .default(0.5),
    )
    .option(
      '--encoder <FOLDER>',
      'folder of the encoder, if it has moved since the index was built',
    )
    .addOption(
      new Option('--port <N>', 'port to listen on (0 = any free port)')
        .argParser(port)
        .default(PORT),
    )
    .option(
      '--host <ADDRESS>',
      'address to listen on; any other than loopback needs a token',
      '127.0.0.1',
    )
    .option(
      '--no-token',
      'answer anyone; otherwise clients need MILLRACE_RETRIEVER_TOKEN, if it is set',
    )
    .option('--top <N>', 'passages per query if the request does not say', positive, 10)
    .option('--timeout <SECONDS>', 'time limit per request, waiting included', positive, 30)
    .option('--batch <N>', 'maximum queries per batch', positive, 64)
    .option('--concurrency <N>', 'concurrent batches', positive, 2)
    .option('--queue <N>', 'queries that may wait; further ones get status 429', positive, 1024)
    .addHelpText(
      'after',
      examplesText([
        'millrace retriever serve wiki-index',
        'millrace retriever serve wiki-index --fusion rrf --port 8000',
      ]),
    )
    .action(async (index: string, options) => {
      const { serveCommand } = await import('../retriever/serve.ts');
      done(await serveCommand({ ...options, index }, io));
    });
}

function share(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 1.');
}
