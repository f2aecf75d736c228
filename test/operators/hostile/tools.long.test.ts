/**
 * Hostile texts through every tool and every dialect, to the tokens that a policy reads and back to a
 * trajectory: it has the tags, the answer and the chat markers that it has with a harmless tool.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import type { Dialect } from '../../../operators/dialect/dialect.ts';
import { resultBlocks, withEmptyResults } from '../../../operators/dialect/results.ts';
import { askOnce } from '../../../operators/tools/cache/askOnce.ts';
import { type Toolbox, toolbox } from '../../../operators/tools/callTool.ts';
import { fileTool } from '../../../operators/tools/files/fileTool.ts';
import { visionTool } from '../../../operators/tools/files/visionTool.ts';
import { browseTool } from '../../../operators/tools/pages/browseTool.ts';
import { pageParser } from '../../../operators/tools/pages/pageParser.ts';
import { type Page, pageReader } from '../../../operators/tools/pages/pageReader.ts';
import { pythonTool } from '../../../operators/tools/python/pythonTool.ts';
import { searchTool } from '../../../operators/tools/search/searchTool.ts';
import { pureTool, type Tool } from '../../../operators/tools/tool.ts';
import { searxng } from '../../../operators/tools/web/providers/searxng.ts';
import { summariser } from '../../../operators/tools/web/summarise.ts';
import type { Searched, WebSearch } from '../../../operators/tools/web/webSearch.ts';
import { webSearchTool } from '../../../operators/tools/web/webSearchTool.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { pdfOf } from '../../support/pdf.ts';
import { cases } from './dialects.ts';
import { HARMLESS, hostileTexts } from './texts.ts';

const names = Object.keys(hostileTexts);
const text = (name: string) => hostileTexts[name] ?? HARMLESS;

/** What each tool is asked so that it says the text of this name. */
const asking: Readonly<Record<string, (name: string) => { tool: Tool | null; input: string }>> = {
  'a document': (name) => ({
    tool: searchTool({ documents: [{ id: 'd', title: 'key', text: text(name) }] }),
    input: 'key',
  }),
  'a title': (name) => ({
    tool: searchTool({
      documents: [{ id: 'd', title: `key ${text(name)}`, text: 'body' }],
      format: (found) => found.map(({ document }) => document.title).join('\n'),
    }),
    input: 'key',
  }),
  'what a program prints': (name) => ({ tool: null, input: `print(${quoted(text(name))})` }),
  'the error of a program': (name) => ({
    tool: null,
    input: `raise ValueError(${quoted(text(name))})`,
  }),
  'the value of a program': (name) => ({ tool: null, input: quoted(text(name)) }),
  'a tool of one’s own': (name) => ({
    tool: pureTool('search', 'Says it.', () => text(name)),
    input: 'x',
  }),
  'the error of a tool': (name) => ({
    tool: pureTool('search', 'Throws it.', () => {
      throw new Error(text(name));
    }),
    input: 'x',
  }),
  'a snippet of the web': (name) => ({ tool: webTool(found({ content: text(name) })), input: 'x' }),
  'a title of the web': (name) => ({
    tool: webTool(found({ title: text(name) }), { read: pageOf('a page', 'its text') }),
    input: 'x',
  }),
  'a page around a snippet': (name) => ({
    tool: webTool(found({ content: 'key' }), { read: pageOf('', `The key: ${text(name)}`) }),
    input: 'x',
  }),
  'a summary of the web': (name) => ({
    tool: webTool(found({}), { read: pageOf('', 'x'), summariser: saying(text(name)) }),
    input: 'x',
  }),
  'a search that fails': (name) => ({
    tool: webTool({ kind: 'failed', reason: 'x' }),
    input: text(name),
  }),
  'a page that is browsed': (name) => ({
    tool: browsing(parsed(Buffer.from(`<p>${escaped(text(name))}</p>`))),
    input: 'http://a.example/',
  }),
  'the title of a page': (name) => ({
    tool: browsing(parsed(Buffer.from(`<title>${escaped(text(name))}</title><p>text</p>`))),
    input: 'http://a.example/',
  }),
  'the title of a PDF': (name) => ({
    tool: browsing(parsed(pdfOf('text', text(name)))),
    input: 'http://a.example/',
  }),
  'a page that is summed up': (name) => ({
    tool: browsing(async () => pageNamed('', 'x'), saying(text(name))),
    input: 'http://a.example/',
  }),
  'a file of a question': (name) => ({
    tool: ofQuestion(
      fileTool({
        read: async () => ({ bytes: bytesOf(text(name)) }),
        parser,
        charactersMax: 100_000,
      }),
    ),
    input: 'a.txt',
  }),
  'an answer about an image': (name) => ({
    tool: ofQuestion(
      visionTool({
        ...{ once: askOnce(null), scope: '', ask: async () => text(name) },
        read: async () => ({ bytes: bytesOf('\x89PNG\r\n\x1a\n') }),
      }),
    ),
    input: 'a.png\nWhat is it?',
  }),
  'a tool that repeats its input': (name) => ({
    tool: pureTool('search', 'Echoes.', (input) => input),
    input: text(name),
  }),
};

function quoted(said: string): string {
  return JSON.stringify(said.replace(/[\ud800-\udfff]/g, '?')).replaceAll('/', '\\u002f');
}

/** What differs in how it comes in alone is not encoded once more: that takes most of the time. */
const encodedToo = (how: string): boolean =>
  ['a title of the web', 'a page that is browsed'].includes(how) ||
  !/ of the web$|page|PDF|snippet|fails$|file|image/.test(how);

/** A tool for the files of a question that has them. */
const ofQuestion = (tool: Tool): Tool => ({
  ...tool,
  name: 'search',
  run: (input, until) => tool.run(input, until, { files: ['a.txt', 'a.png'] }),
});
const bytesOf = (said: string): Uint8Array =>
  new Uint8Array(Buffer.from(said, said.startsWith('\x89') ? 'latin1' : 'utf8'));

/** A search of the web with this outcome. */
function webTool(answer: Searched, over: Partial<Parameters<typeof webSearchTool>[0]> = {}): Tool {
  const provider = searxng({ url: 'http://a.example', region: '', language: '', top: 10 });
  const web: WebSearch = { provider, search: async () => answer, close: () => undefined };
  const tool = webSearchTool({ web, once: askOnce(null), cache: null, ...over });
  return { ...tool, name: 'search' };
}

/** What a provider's reply with one result of these fields is read as. */
function found(fields: Readonly<Record<string, string>>): Searched {
  const result = { title: 't', url: 'http://a.example/', content: 'c', ...fields };
  const provider = searxng({ url: 'http://a.example', region: '', language: '', top: 10 });
  const results = provider.read({ results: [result] });
  if (results === null || typeof results === 'string') throw new Error('no results');
  return { kind: 'found', results };
}

const pageNamed = (title: string, body: string): Page => ({
  ...{ kind: 'read', format: 'html', title, text: body },
});
const reading = (read: () => Promise<Page>) =>
  pageReader({ once: askOnce(null), source: { scope: '', read, close: async () => undefined } });
const pageOf = (title: string, body: string) => reading(async () => pageNamed(title, body));
const saying = (said: string) =>
  summariser({
    ...{ once: askOnce(null), scope: '' },
    ask: async () => `**Final Information** ${said}`,
  });
const browsing = (read: () => Promise<Page>, summing: ReturnType<typeof saying> | null = null) => ({
  ...browseTool({ read: reading(read), summariser: summing, charactersMax: 100_000 }),
  name: 'search',
});

const parser = pageParser({ clock: sleepClock(systemClock), threads: 1 });
const parsed = (bytes: Uint8Array) => async (): Promise<Page> => {
  const page = { bytes: new Uint8Array(bytes), contentType: '', extract: 'readable' } as const;
  return { kind: 'read', ...(await parser.parse(page, signal)) };
};
const escaped = (said: string): string => said.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const python = pythonTool();
let shared: Toolbox;
beforeAll(() => {
  shared = toolbox([python], { clock: manualClock() });
});
afterAll(() => Promise.all([shared.close(), parser.close()]));

const signal = new AbortController().signal;

async function outputOf(how: string, name: string): Promise<string> {
  const { tool, input } = asking[how]!(name);
  if (tool === null) return (await shared.call('python', input, signal)).output;
  return (await toolbox([tool], { clock: manualClock() }).call('search', input, signal)).output;
}

describe.each(Object.keys(asking))('%s', (how) => {
  const outputs = new Map<string, string>();
  beforeAll(async () => {
    for (const name of [...names, '']) outputs.set(name, await outputOf(how, name));
  });

  test('says what it is instructed to say', () => {
    const plain = text('a box');
    // Python's and JSON's way of writing a text doubles the backslash.
    const written = ['the value of a program', 'a title of the web', 'a page around a snippet'];
    expect(outputs.get('a box')!).toContain(written.includes(how) ? 'boxed{42}' : plain);
  });

  describe.each(Object.keys(cases))('in %s', (which) => {
    const { dialect, before, behind, calls } = cases[which]!;
    const { tokenizer } = dialect;
    /** The tool says it in every result of the turn. */
    const told = (name: string, cut = 0) => {
      const tokens = dialect.results(Array.from({ length: calls }, () => outputs.get(name)!));
      const result = tokenizer.decode(tokens.subarray(0, cut === 0 ? undefined : -cut));
      const parts = [
        { author: 'policy', text: before, ended: true },
        { author: 'tool', text: result },
        ...(cut === 0 ? [{ author: 'policy', text: behind, ended: true } as const] : []),
      ] as const;
      return { tokens, read: dialect.read(parts) };
    };

    test('makes no tag, answer or message', () => {
      const expected = told('');
      const marks = marksIn(dialect, expected.tokens);
      for (const name of names) {
        const { tokens, read } = told(name);
        expect([name, marksIn(dialect, tokens)]).toEqual([name, marks]);
        expect([name, withEmptyResults(read)]).toEqual([name, withEmptyResults(expected.read)]);
        expect([name, resultBlocks(read).length]).toEqual([name, calls]);
        expect([name, dialect.formatFault(withEmptyResults(read), 'selection')]).toEqual([
          name,
          null,
        ]);
      }
    });

    if (how === 'a tool of one’s own') {
      test('makes none even if the result is cut off', () => {
        const cuts = (name: string) => {
          const { length } = told(name).tokens;
          const every = name !== '' && length > 100 ? 9 : 1;
          return Array.from({ length: Math.floor(length / every) }, (_, i) =>
            withEmptyResults(told(name, 1 + i * every).read),
          );
        };
        const expected = new Set(cuts(''));
        for (const name of names.filter((each) => each !== 'long')) {
          expect([name, cuts(name).filter((own) => !expected.has(own))]).toEqual([name, []]);
        }
      });
    }

    if (encodedToo(how))
      test('adds no markup to a trajectory that is encoded for training', () => {
        const encoded = (name: string) =>
          marksIn(dialect, dialect.encodeExample('?', told(name).read, 'masked').tokens);
        const continued = (name: string) => marksIn(dialect, dialect.continuation(told(name).read));
        for (const name of names) {
          expect([name, encoded(name)]).toEqual([name, encoded('')]);
          expect([name, continued(name)]).toEqual([name, continued('')]);
        }
      });
  });
});

/** The tokens of tags and chat markers among these. */
function marksIn({ tokenizer }: Dialect, tokens: Int32Array): number[] {
  const marks = (tokenizer.markers ?? []).map((mark) => tokenizer.id(mark));
  return [...tokens].filter((token) => marks.includes(token));
}
