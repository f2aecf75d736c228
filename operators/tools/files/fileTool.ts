/**
 * `process_file`: the text of a file that the question names (DeepAgent's release has it under this name).
 * PDF, Word, Excel, PowerPoint, archives and HTML are read by libraries in a thread with bounds
 * (pages/pageParser.ts), everything else is taken as text.
 */
import { createHash } from 'node:crypto';
import { LruCache, messageOf } from '../../../base/index.ts';
import { isBlank, strip } from '../../text/characters.ts';
import { askOnce } from '../cache/askOnce.ts';
import { contentTypeOf } from '../pages/contentType.ts';
import type { PageParser } from '../pages/pageParser.ts';
import type { Tool, ToolResult } from '../tool.ts';
import { webText } from '../web/webText.ts';
import type { ReadAttachment } from './attachments.ts';
import { mediaOf } from './media.ts';
import { VISION } from './visionTool.ts';

/** What reads files, and how much to show. */
export interface FileToolOptions {
  readonly read: ReadAttachment;
  /** Closed with the tool. */
  readonly parser: PageParser;
  /** Limit of code points of a file shown at once (default 20000). */
  readonly charactersMax?: number;
}

export const FILE = 'process_file';

const PARAMETERS = {
  type: 'object',
  properties: {
    file_name: { type: 'string', description: 'name of the file' },
    from: { type: 'integer', description: 'character to begin at; left out = the first' },
  },
  required: ['file_name'],
} as const;

/** Limit of UTF-16 units kept of a file. */
const TEXT_MAX = 2_000_000;
/** Texts kept: all rollouts of a question read the same file. */
const TEXTS_KEPT = 8;

export function fileTool(options: FileToolOptions): Tool {
  const { read, parser, charactersMax = 20_000 } = options;
  const once = askOnce(null);
  const texts = new LruCache<string>(TEXTS_KEPT);

  async function textOf(name: string, bytes: Uint8Array, signal: AbortSignal): Promise<string> {
    const contentType = contentTypeOf(name);
    const key = `${contentType}/${createHash('sha256').update(bytes).digest('hex')}`;
    const known = texts.get(key);
    if (known !== undefined) return known;
    const parse = async () => {
      const { text, format } = await parser.parse(
        { bytes, contentType, extract: 'readable' },
        signal,
      );
      if (format === 'text' && text.includes('\0')) throw new Error('its format is unknown');
      return { value: webText(text, TEXT_MAX), keep: true };
    };
    const { value } = await once({ kind: 'page', scope: 'file', key }, parse, signal);
    texts.set(key, value);
    return value;
  }

  return {
    name: FILE,
    about:
      'Shows the text of a file of the question (PDF, Word, Excel, PowerPoint, CSV, text, code, archives): write its name and, to go on in a long one, on the next line the character to begin at.',
    parameters: PARAMETERS,
    concurrencyMax: 8,
    // Which files may be read depends on the question.
    pure: false,
    async run(input, signal, situation): Promise<ToolResult> {
      const { name, from } = askedOf(input);
      const file = await read(name, situation?.files ?? []);
      if ('reason' in file) return failed(file.reason);
      const media = mediaOf(name, file.bytes);
      if (media?.kind === 'image') {
        return failed(`${name} is an image, which ${VISION} answers questions about`);
      }
      if (media !== null) return failed(`${name} is audio or video, which cannot be read here`);
      try {
        const text = await textOf(name, file.bytes, signal);
        return shown(name, text, from, charactersMax);
      } catch (error) {
        signal.throwIfAborted();
        return failed(`${name} cannot be read: ${messageOf(error).replace(/\.+$/, '')}`);
      }
    },
    close: () => parser.close(),
  };
}

/** A window of the text, and how much is left. */
function shown(name: string, text: string, from: number, max: number): ToolResult {
  if (isBlank(text)) return failed(`${name} has no text`);
  const all = Array.from(text);
  if (from >= all.length) return failed(`${name} has only ${all.length} characters`);
  const part = all.slice(from, from + max).join('');
  const end = Math.min(all.length, from + max);
  if (end === all.length && from === 0) return { output: part, ok: true };
  const place = `[Characters ${from} to ${end} of ${all.length}${end < all.length ? `; go on from ${end}` : ''}]`;
  return { output: `${part}\n\n${place}`, ok: true };
}

function failed(reason: string): ToolResult {
  return { output: `Error: ${reason}.`, ok: false };
}

/** A name and, on the next line, a number; or the arguments of a function call as JSON. */
function askedOf(input: string): { readonly name: string; readonly from: number } {
  const text = strip(input);
  if (text.startsWith('{')) {
    try {
      const { file_name: name, from } = JSON.parse(text) as Readonly<Record<string, unknown>>;
      return { name: typeof name === 'string' ? name : '', from: placeOf(from) };
    } catch {
      // It is a text after all.
    }
  }
  const [name = '', from = ''] = text.split('\n', 2);
  return { name: strip(name), from: placeOf(Number(from)) };
}

function placeOf(given: unknown): number {
  return typeof given === 'number' && given > 0 ? Math.floor(given) : 0;
}
