/** `millrace cache …` on the command line. */
import { type Command, Option } from 'commander';
import { cacheKinds } from '../../operators/tools/cache/index.ts';
import { type Done, whole } from '../command.ts';
import type { Io } from '../io.ts';
import { cacheExport, cacheImport, cacheList, cachePrune } from './cache.ts';

export function addCache(program: Command, io: Io, done: Done): void {
  const cache = program
    .command('cache')
    .description('Manage cached tool results: searches, pages and summaries, shared by all runs.');
  const add = (name: string, about: string, examples: readonly string[]): Command => {
    const lines = examples.map((example) => `  ${example}`).join('\n');
    return cache
      .command(name)
      .description(about)
      .option('--cache <FILE>', 'cache file (default: ~/.cache/millrace/tools.mdb)')
      .addHelpText('after', `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${lines}`);
  };
  add('ls', 'List cached results by kind.', ['millrace cache ls'])
    .option('--json', 'print one JSON object')
    .action(async (options) => done(await cacheList(options, io)));
  add('import', 'Import a search cache released with a paper: a JSON object, query → text.', [
    'millrace cache import search_cache.json',
  ])
    .argument('<file>', 'the cache to import')
    .action(async (file: string, options) => done(await cacheImport({ ...options, file }, io)));
  add('export', 'Export cached searches in the same format.', [
    'millrace cache export search_cache.json',
  ])
    .argument('[file]', 'output file (default: stdout)')
    .action(async (file: string | undefined, options) =>
      done(await cacheExport({ ...options, ...(file === undefined ? {} : { file }) }, io)),
    );
  add('prune', 'Delete cached results.', [
    'millrace cache prune --older-than 30',
    'millrace cache prune --kind page',
  ])
    .addOption(new Option('--kind <KIND>', 'only this kind').choices(cacheKinds))
    .option('--older-than <DAYS>', 'only entries older than this', whole)
    .option('--all', 'everything')
    .action(async (options) => done(await cachePrune(options, io)));
}
