/**
 * A tokenizer as checkpoints have it: byte-level byte-pair encoding with the splits of Qwen, learnt from a
 * list of texts, and a ChatML template. Every text of the list becomes one token; all else is spelt in
 * smaller pieces.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Qwen's: words with what precedes them, single digits, runs of punctuation, white space. */
const SPLIT =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** Not part of a word's text: what opens and closes a message, and what ends a text. */
const SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'] as const;

const TEMPLATE = `{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

/**
 * Writes `tokenizer.json`, `tokenizer_config.json` and `chat_template.jinja` into a folder. A text that
 * `SPLIT` takes apart becomes several tokens.
 */
export async function writeTokenizer(folder: string, texts: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  const config = { eos_token: '<|im_end|>', pad_token: '<|endoftext|>' };
  const write = (name: string, content: string) => writeFile(join(folder, name), content);
  await write('tokenizer.json', `${JSON.stringify(tokenizerJson(texts), null, 1)}\n`);
  await write('tokenizer_config.json', `${JSON.stringify(config, null, 1)}\n`);
  await write('chat_template.jinja', TEMPLATE);
}

function tokenizerJson(texts: readonly string[]) {
  const characters = byteCharacters();
  const spelt = [...new Set(texts)].map((text) =>
    [...new TextEncoder().encode(text)].map((byte) => characters[byte]!),
  );
  const merges = learnMerges(spelt);
  const pieces = [...new Set([...characters, ...merges.map(([left, right]) => left + right)])];
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: SPECIAL.map((content, i) => ({
      ...{ id: pieces.length + i, content, special: true, normalized: false },
      ...{ single_word: false, lstrip: false, rstrip: false },
    })),
    normalizer: { type: 'NFC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: SPLIT }, behavior: 'Isolated', invert: false },
        { ...byteLevel, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { ...byteLevel, use_regex: false },
    model: {
      ...{ type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: '' },
      ...{ end_of_word_suffix: '', fuse_unk: false, byte_fallback: false },
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
      merges,
    },
  };
}

type Pair = readonly [left: string, right: string];

/** The commonest pair of neighbours is joined, again and again, until every text is one piece. */
function learnMerges(texts: readonly (readonly string[])[]): Pair[] {
  const merges: Pair[] = [];
  let current = texts;
  for (let pair = commonest(current); pair !== null; pair = commonest(current)) {
    const joining = pair;
    merges.push(joining);
    current = current.map((pieces) => joined(pieces, joining));
  }
  return merges;
}

/** The first of the commonest in alphabetical order; null if there is no pair left. */
function commonest(texts: readonly (readonly string[])[]): Pair | null {
  const counts = new Map<string, { readonly pair: Pair; count: number }>();
  for (const pieces of texts) {
    for (let i = 1; i < pieces.length; i++) {
      const pair = [pieces[i - 1]!, pieces[i]!] as const;
      const known = counts.get(pair.join(' '));
      if (known === undefined) counts.set(pair.join(' '), { pair, count: 1 });
      else known.count++;
    }
  }
  let best: { readonly key: string; readonly pair: Pair; readonly count: number } | null = null;
  for (const [key, { pair, count }] of counts) {
    if (best === null || count > best.count || (count === best.count && key < best.key))
      best = { key, pair, count };
  }
  return best?.pair ?? null;
}

function joined(pieces: readonly string[], [left, right]: Pair): readonly string[] {
  const out: string[] = [];
  for (let i = 0; i < pieces.length; i++) {
    const both = pieces[i] === left && pieces[i + 1] === right;
    out.push(both ? left + right : pieces[i]!);
    if (both) i++;
  }
  return out;
}

/** The characters that represent bytes in byte-level tokenizers. */
function byteCharacters(): readonly string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrinted = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    return String.fromCharCode(isPrinted ? byte : next++);
  });
}
