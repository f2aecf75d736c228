/** `search`: in the job's documents, an index, the web, or cached results. */
import { MillraceError } from '../../base/index.ts';
import { notEmpty, type Tool } from '../../operators/tools/index.ts';
import { readCorpus, searchTool } from '../../operators/tools/search/index.ts';
import { retrieval } from './retrieval.ts';
import { defineTool, type Shared, type ToolContext } from './toolKind.ts';
import { cacheSearcher, webSearcher } from './webSearcher.ts';

export const search = defineTool({
  async open(context, shared) {
    const { emptyTries } = context.settings.tools.search;
    return notEmpty(await searcher(context, shared), emptyTries);
  },
});

async function searcher(context: ToolContext, shared: Shared): Promise<Tool> {
  switch (context.settings.tools.search.provider) {
    case 'corpus':
      return corpusSearch(context);
    case 'retriever':
      return retrieval(context);
    case 'cache':
      return cacheSearcher(context, shared);
    default:
      return webSearcher(context, shared);
  }
}

async function corpusSearch({ settings }: ToolContext): Promise<Tool> {
  const { corpus, searchTop: top, searchCharacters: charactersMax } = settings;
  if (corpus !== '') {
    return searchTool({ documents: await readCorpus(corpus), top, charactersMax });
  }
  throw new MillraceError(
    'USAGE',
    'the search tool needs documents (--set corpus=FILE, JSON Lines with id, title, text), an index of them (--set tools.search.provider=retriever, docs/retrieval.md), or a provider that searches the web (--set tools.search.provider=searxng, docs/tools.md)',
  );
}
