/** Encoders against transformers; skipped without it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect } from '@jest/globals';
import { openEncoder } from '../../../model/encoder/openEncoder.ts';
import { openTextTokens } from '../../../model/encoder/textTokens.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { yardstick } from '../../support/python.ts';
import { texts, tinyEncoder } from '../../support/tinyEncoder.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const script = fileURLToPath(new URL('yardstick.py', import.meta.url));
const { signal } = new AbortController();

interface Found {
  readonly mean: readonly number[][];
  readonly cls: readonly number[][];
  readonly tokens: readonly number[][];
}

const TOKENS_MAX = 32;

for (const [name, family, theirs] of [
  ['a BERT', 'bert', false],
  ['an XLM-RoBERTa', 'xlm-roberta', false],
  ['a BERT that transformers wrote', 'bert', true],
  ['an XLM-RoBERTa that transformers wrote', 'xlm-roberta', true],
] as const)
  yardstick(['torch', 'transformers'])(
    `${name} gives the tokens and the vectors of transformers`,
    async (python) => {
      const at = await tinyEncoder(join(folder.path, name), family, {
        activation: theirs ? 'gelu_new' : 'gelu',
      });
      if (theirs) python.run(script, 'make', at);
      const file = join(folder.path, 'texts.json');
      writeFileSync(file, JSON.stringify(texts));
      const found = python.run(script, 'encode', at, file, String(TOKENS_MAX)) as Found;
      const tokens = await openTextTokens(at);
      expect(texts.map((text) => tokens.encode(text, TOKENS_MAX))).toEqual(found.tokens);
      for (const pooling of ['mean', 'cls'] as const) {
        const encoder = await openEncoder(at, { pooling, tokensMax: TOKENS_MAX, threads: 1 });
        const vectors = await encoder.encode(texts, 'query', signal);
        await encoder.close();
        const want = found[pooling].flat();
        expect(vectors).toHaveLength(want.length);
        const worst = want.reduce(
          (most, value, i) => Math.max(most, Math.abs(value - vectors[i]!)),
          0,
        );
        expect(worst).toBeLessThan(1e-4);
      }
    },
  );
