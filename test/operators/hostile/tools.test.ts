/**
 * Hostile texts through every tool and every dialect, to the tokens that a policy reads and back to a trajectory: it has
 * the tags, the answer and the chat markers that it has with a harmless tool.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Dialect } from '../../../operators/dialect/dialect.ts';
import { resultBlocks, withEmptyResults } from '../../../operators/dialect/results.ts';
import { type Toolbox, toolbox } from '../../../operators/tools/callTool.ts';
import { pythonTool } from '../../../operators/tools/python/pythonTool.ts';
import { searchTool } from '../../../operators/tools/search/searchTool.ts';
import { pureTool, type Tool } from '../../../operators/tools/tool.ts';
import { manualClock } from '../../../testing/manualClock.ts';
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
  'a tool that repeats its input': (name) => ({
    tool: pureTool('search', 'Echoes.', (input) => input),
    input: text(name),
  }),
};

function quoted(said: string): string {
  return JSON.stringify(said.replace(/[\ud800-\udfff]/g, '?')).replaceAll('/', '\\u002f');
}

const python = pythonTool();
let shared: Toolbox;
beforeAll(() => {
  shared = toolbox([python], { clock: manualClock() });
});
afterAll(() => shared.close());

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
  }, 120_000);

  test('says what it is told to say', () => {
    const plain = text('a box');
    expect(outputs.get('a box')!).toContain(how === 'the value of a program' ? 'boxed{42}' : plain);
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

    test('no tag, answer or message is made', () => {
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
      test('nor where the result is cut off, wherever that is', () => {
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

    test('a trajectory that is encoded for training has no other marks either', () => {
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
