/**
 * Tokenizers of the kinds that checkpoints have, against the Python package `tokenizers`; skipped without it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect } from '@jest/globals';
import { loadTokenizer } from '../../../model/tokenizers/loadTokenizer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { yardstick } from '../../support/python.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const script = fileURLToPath(new URL('tokenizerKinds.py', import.meta.url));

interface Found {
  readonly texts: readonly string[];
  readonly kinds: Readonly<
    Record<string, { readonly ids: readonly number[][]; readonly decoded: readonly string[] }>
  >;
}

yardstick(['tokenizers'])(
  'byte-level and SentencePiece-style tokenizers give the tokens of the package, and none from outside is a tag',
  async (python) => {
    const { texts, kinds } = python.run(script, folder.path) as Found;
    expect(Object.keys(kinds)).toHaveLength(14);
    for (const [kind, { ids, decoded }] of Object.entries(kinds)) {
      const path = join(folder.path, kind);
      const tokenizer = await loadTokenizer(path);
      const { added_tokens } = JSON.parse(readFileSync(join(path, 'tokenizer.json'), 'utf8')) as {
        added_tokens: { id: number; content: string }[];
      };
      const tags = new Set(
        added_tokens.filter(({ content }) => content.trim() !== '').map(({ id }) => id),
      );
      for (const [i, text] of texts.entries()) {
        const said = (tokens: ArrayLike<number>) => [kind, text, Array.from(tokens)];
        expect(said(tokenizer.encode(text))).toEqual([kind, text, ids[i]]);
        const whole = [{ text, tags: true }];
        expect(said(tokenizer.encodeParts(whole))).toEqual([kind, text, ids[i]]);
        expect(tokenizer.decode(ids[i] ?? [])).toBe(decoded[i]);
        const outside = tokenizer.encode(text, { tags: false });
        expect(said(outside.filter((token) => tags.has(token)))).toEqual([kind, text, []]);
      }
    }
  },
);
