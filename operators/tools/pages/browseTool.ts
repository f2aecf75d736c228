/**
 * `browse`: reads one web page for the policy; with a summariser, returns what a model finds in it about the
 * policy's question (the browser agent of the papers).
 */
import { strip } from '../../text/characters.ts';
import { outputText } from '../outputText.ts';
import type { Tool, ToolResult } from '../tool.ts';
import type { Summariser } from '../web/summarise.ts';
import type { ReadPage } from './pageReader.ts';

/** What reads pages, and how much to show. */
export interface BrowseToolOptions {
  readonly read: ReadPage;
  /** Null = the page itself is shown (default). */
  readonly summariser?: Summariser | null;
  /** Limit of code points shown of a page; a longer one is cut and ends in `...` (default 4000). */
  readonly charactersMax?: number;
  /** Calls at once (default 32). */
  readonly concurrencyMax?: number;
}

const PARAMETERS = {
  type: 'object',
  properties: {
    url: { type: 'string', description: 'address of the page' },
    question: { type: 'string', description: 'what you want to know of it' },
  },
  required: ['url'],
} as const;

/** Longest request about a page, in UTF-16 units. */
const QUESTION_MAX = 2000;

/** The tool that reads a page. Closing it closes nothing: the reader owns what it opens. */
export function browseTool(options: BrowseToolOptions): Tool {
  const { read, summariser = null, charactersMax = 4000, concurrencyMax = 32 } = options;
  return {
    name: 'browse',
    about: 'Reads a web page: write its address, and on the next line what you want to know of it.',
    parameters: PARAMETERS,
    concurrencyMax,
    pure: false,
    async run(input, signal): Promise<ToolResult> {
      const { url, question } = askedOf(input);
      const page = await read(url, signal);
      if (page.kind === 'failed')
        return { output: `Error: the page cannot be read: ${page.reason}`, ok: false };
      const whole = strip(`${page.title}\n\n${page.text}`);
      if (whole === '') return { output: 'Error: the page has no text', ok: false };
      const summary = await summariser?.ofPage({ url, question, text: whole }, signal);
      return { output: summary ?? outputText(whole, charactersMax), ok: true };
    },
    close: async () => undefined,
  };
}

/** Lines of a text, or the arguments of a function call as JSON. */
function askedOf(input: string): { readonly url: string; readonly question: string } {
  const text = strip(input);
  if (text.startsWith('{')) {
    try {
      const { url, question } = JSON.parse(text) as Readonly<Record<string, unknown>>;
      const asked = typeof question === 'string' ? question : '';
      return {
        url: typeof url === 'string' ? url : '',
        question: strip(asked).slice(0, QUESTION_MAX),
      };
    } catch {
      // It is plain text after all.
    }
  }
  const end = text.indexOf('\n');
  if (end < 0) return { url: text, question: '' };
  return {
    url: strip(text.slice(0, end)),
    question: strip(text.slice(end)).slice(0, QUESTION_MAX),
  };
}
