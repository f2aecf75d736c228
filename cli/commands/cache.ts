/** `millrace cache …` on the command line. */
import { type Command, Option } from 'commander';
import { examplesText, type Place, type Subcommand, whole } from '../command.ts';

const acts = () => import('../cache/cache.ts');

export const command: Subcommand = {
  about: 'Manage cached tool results: searches, pages and summaries, shared by all runs.',
  declare: declareCache,
};

async function declareCache(cache: Command, { io, done }: Place): Promise<void> {
  const { cacheKinds } = await import('../../operators/tools/cache/index.ts');
  const add = (name: string, about: string, examples: readonly string[]): Command =>
    cache
      .command(name)
      .description(about)
      .option('--cache <FILE>', 'cache file (default: ~/.cache/millrace/tools.mdb)')
      .addHelpText('after', examplesText(examples));
  add('ls', 'List cached results by kind.', ['millrace cache ls'])
    .option('--json', 'print one JSON object')
    .action(async (options) => done(await (await acts()).cacheList(options, io)));
  add('import', 'Import a search cache released with a paper: a JSON object, query → text.', [
    'millrace cache import search_cache.json',
  ])
    .argument('<file>', 'the cache to import')
    .action(async (file: string, options) =>
      done(await (await acts()).cacheImport({ ...options, file }, io)),
    );
  add('export', 'Export cached searches in the same format.', [
    'millrace cache export search_cache.json',
  ])
    .argument('[file]', 'output file (default: stdout)')
    .action(async (file: string | undefined, options) =>
      done(
        await (await acts()).cacheExport(
          { ...options, ...(file === undefined ? {} : { file }) },
          io,
        ),
      ),
    );
  add('prune', 'Delete cached results.', [
    'millrace cache prune --older-than 30',
    'millrace cache prune --kind page',
  ])
    .addOption(new Option('--kind <KIND>', 'only this kind').choices(cacheKinds))
    .option('--older-than <DAYS>', 'only entries older than this', whole)
    .option('--all', 'everything')
    .action(async (options) => done(await (await acts()).cachePrune(options, io)));
}
