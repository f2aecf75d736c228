/**
 * `visual_question_answering`: a model that sees answers a question about an image that the question names
 * (DeepAgent's release has it under this name). An answer is asked for once and kept; what it says is
 * untrusted, since an image may have dictated it.
 */
import { createHash } from 'node:crypto';
import type { DrawKey } from '../../../base/index.ts';
import { isBlank, strip } from '../../text/characters.ts';
import type { AskOnce } from '../cache/askOnce.ts';
import type { Tool, ToolResult } from '../tool.ts';
import { webText } from '../web/webText.ts';
import type { ReadAttachment } from './attachments.ts';
import { mediaOf } from './media.ts';

/** An image on its way to a model. */
export interface SeenImage {
  /** As in `image/png`. */
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Asks a model about an image; null if it gave up. `draws` names the request's draws. */
export type AskVision = (
  request: {
    readonly prompt: string;
    readonly image: SeenImage;
    readonly draws: readonly DrawKey[];
  },
  signal: AbortSignal,
) => Promise<string | null>;

/** The model that sees. */
export interface VisionToolOptions {
  readonly read: ReadAttachment;
  readonly ask: AskVision;
  /** What decides the answer besides question and image: the model's name and its sampling. */
  readonly scope: string;
  readonly once: AskOnce;
  /** Calls at once (default 32). */
  readonly concurrencyMax?: number;
}

export const VISION = 'visual_question_answering';

const PARAMETERS = {
  type: 'object',
  properties: {
    image_name: { type: 'string', description: 'name of the image' },
    question: { type: 'string', description: 'what you want to know about it' },
  },
  required: ['image_name', 'question'],
} as const;

/** In UTF-16 units. */
const QUESTION_MAX = 4000;
const ANSWER_MAX = 20_000;

export function visionTool(options: VisionToolOptions): Tool {
  const { read, ask, scope, once, concurrencyMax = 32 } = options;

  async function answer(prompt: string, image: SeenImage, signal: AbortSignal): Promise<string> {
    const key = createHash('sha256').update(prompt).update('\0').update(image.bytes).digest('hex');
    const asked = async () => {
      const text = await ask({ prompt, image, draws: ['vision', key] }, signal);
      return { value: text ?? '', keep: text !== null };
    };
    return (await once({ kind: 'vision', scope, key }, asked, signal)).value;
  }

  return {
    name: VISION,
    about:
      'Answers a question about an image of the question: write its name, and on the next lines what you want to know.',
    parameters: PARAMETERS,
    concurrencyMax,
    // Which images may be seen depends on the question.
    pure: false,
    async run(input, signal, situation): Promise<ToolResult> {
      const { name, question } = askedOf(input);
      if (question === '') return failed('write a question about the image');
      const file = await read(name, situation?.files ?? []);
      if ('reason' in file) return failed(file.reason);
      const media = mediaOf(name, file.bytes);
      if (media?.kind !== 'image')
        return failed(`${name} is not an image (PNG, JPEG, GIF, WebP or BMP)`);
      const said = await answer(question, { type: media.type, bytes: file.bytes }, signal);
      const output = strip(webText(said, ANSWER_MAX));
      return isBlank(output) ? failed('the vision model gave no answer') : { output, ok: true };
    },
    close: async () => undefined,
  };
}

function failed(reason: string): ToolResult {
  return { output: `Error: ${reason}.`, ok: false };
}

/** Lines of a text, or the arguments of a function call as JSON. */
function askedOf(input: string): { readonly name: string; readonly question: string } {
  const text = strip(input);
  if (text.startsWith('{')) {
    try {
      const { image_name: name, question } = JSON.parse(text) as Readonly<Record<string, unknown>>;
      return { name: typeof name === 'string' ? name : '', question: questionOf(question) };
    } catch {
      // It is plain text after all.
    }
  }
  const end = text.indexOf('\n');
  if (end < 0) return { name: text, question: '' };
  return { name: strip(text.slice(0, end)), question: questionOf(text.slice(end)) };
}

function questionOf(given: unknown): string {
  return typeof given === 'string' ? strip(given).slice(0, QUESTION_MAX) : '';
}
