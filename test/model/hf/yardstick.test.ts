/** Checkpoints, adapters and tokenizers against transformers and PEFT; skipped without them. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import type { Tensors } from '../../../model/config.ts';
import { readAdapter, writeAdapter } from '../../../model/hf/adapterFiles.ts';
import { loadPolicy, openPolicy } from '../../../model/hf/loadPolicy.ts';
import { checkAdapter, merged } from '../../../model/hf/lora.ts';
import { writeFolder } from '../../../model/hf/writeFolder.ts';
import { loadTokenizer } from '../../../model/tokenizers/loadTokenizer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { yardstick } from '../../support/python.ts';

const folder = temporaryFolder();
const at = (...names: string[]) => join(folder.path, ...names);
const script = fileURLToPath(new URL('yardstick.py', import.meta.url));
const fixture = fileURLToPath(new URL('fixtures/tokenizer', import.meta.url));
afterAll(() => folder.remove());

interface Facts {
  readonly digests: Readonly<Record<string, string>>;
  readonly logits: readonly number[];
  readonly dtype?: string;
  readonly problems?: unknown;
}

const NO_PROBLEMS = { missing_keys: [], unexpected_keys: [], mismatched_keys: [] };

function digests(tensors: Tensors): Record<string, string> {
  return Object.fromEntries(
    [...tensors].map(([name, { data }]) => [
      name,
      createHash('sha256')
        .update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
        .digest('hex'),
    ]),
  );
}

function worst(a: readonly number[], b: readonly number[]): number {
  expect(a).toHaveLength(b.length);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
}

const withTransformers = yardstick(['torch', 'transformers']);

for (const [family, dtype, shard] of [
  ['llama', 'float32', '1GB'],
  ['llama3', 'bfloat16', '1GB'],
  ['llamaBias', 'float32', '20KB'],
  ['qwen2', 'float16', '20KB'],
  ['qwen3', 'bfloat16', '20KB'],
  ['qwen3Yarn', 'float32', '1GB'],
] as const)
  withTransformers(
    `a random ${family} of transformers in ${dtype} is read bit for bit, and what we save is loaded there`,
    async (python) => {
      const theirs = at(`${family}-theirs`);
      const facts = python.run(script, 'write', theirs, family, dtype, shard) as Facts;
      const policy = await loadPolicy(theirs);
      expect(digests(policy.tensors)).toEqual(facts.digests);

      const ours = at(`${family}-ours`);
      const source = await openPolicy(theirs);
      const options = { dtype: 'keep', shardBytesMax: 20_000, like: theirs } as const;
      const saved = await writeFolder(ours, source.config, source, options);
      await source.close();
      const back = python.run(script, 'read', ours) as Facts;
      expect(back.problems).toEqual(NO_PROBLEMS);
      expect(back.dtype).toBe(dtype);
      expect(back.digests).toEqual(facts.digests);
      // the same weights and the same meaning of the configuration
      expect(worst(back.logits, facts.logits)).toBe(0);
      expect(await loadPolicy(ours, saved.sha256)).toEqual(policy);
      expect(readFileSync(join(ours, 'generation_config.json'))).toEqual(
        readFileSync(join(theirs, 'generation_config.json')),
      );
    },
  );

withTransformers('what we save from nothing is loaded by transformers', async (python) => {
  python.run(script, 'write', at('plain'), 'qwen3', 'float32', '1GB');
  const source = await openPolicy(at('plain'));
  await writeFolder(at('bare'), source.config, source, { dtype: 'BF16' });
  await source.close();
  const { problems, dtype, digests: found } = python.run(script, 'read', at('bare')) as Facts;
  expect({ problems, dtype }).toEqual({ problems: NO_PROBLEMS, dtype: 'bfloat16' });
  expect(found).toEqual(digests((await loadPolicy(at('bare'))).tensors));
});

yardstick(['torch', 'transformers', 'peft'])(
  'an adapter of PEFT merges here as there, and ours is loaded there',
  async (python) => {
    python.run(script, 'write', at('base'), 'qwen2', 'float32', '1GB');
    const facts = python.run(script, 'adapter', at('base'), at('lora'), at('merged')) as Facts;
    const adapter = await readAdapter(at('lora'));
    const base = await openPolicy(at('base'));
    checkAdapter(adapter, base.config, at('lora'));
    await writeFolder(at('ours'), base.config, merged(base, adapter), { dtype: 'F32' });
    await base.close();
    const [ours, theirs] = await Promise.all([loadPolicy(at('ours')), loadPolicy(at('merged'))]);
    for (const [name, { data }] of theirs.tensors)
      expect(worst([...data], [...ours.tensors.get(name)!.data])).toBeLessThan(1e-6);

    await writeAdapter(at('again'), adapter);
    const { logits } = python.run(script, 'adapt', at('base'), at('again')) as Facts;
    expect(worst(logits, facts.logits)).toBeLessThan(1e-4);
    const unmerged = python.run(script, 'read', at('base')) as Facts;
    expect(worst(logits, unmerged.logits)).toBeGreaterThan(0.1);
  },
);

withTransformers(
  'texts and chats become the tokens that transformers makes of them',
  async (python) => {
    const texts = [
      'The answer is <think>42</think>, naïve Grüße 😀 <|im_end|>',
      '  two  spaces\n\n\ttabs\r\n  end ',
      "Don't ask: we'll'd IT'S 1234567890 !!!\n)) x",
      'e\u0301 composed, \u200d joined 👩‍🚀, ไทย, 日本語, \ufeff bom',
      '<|im_start|><|im_start|>user\n<searc <search >',
    ];
    const user = { role: 'user', content: 'How far is the town?\n' };
    const call = { function: { name: 'search', arguments: { query: 'town' } } };
    const chats = [
      { messages: [user], addGenerationPrompt: true },
      {
        messages: [
          { role: 'system', content: 'Be brief.' },
          user,
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', content: ' 12 km ' },
          { role: 'assistant', content: '<think>12</think>12' },
          { role: 'user', content: '\n\nThanks' },
        ],
        tools: [
          { type: 'function', function: { name: 'search', "quo'te": '<ü>', n: [1, 2.5, null] } },
        ],
        addGenerationPrompt: false,
      },
    ];
    mkdirSync(at('texts'));
    writeFileSync(at('texts', 'asked.json'), JSON.stringify({ texts, chats }));
    const theirs = python.run(script, 'tokens', fixture, at('texts', 'asked.json')) as {
      ids: number[][];
      decoded: string[];
      chats: string[];
      chatIds: number[][];
    };
    const tokenizer = await loadTokenizer(fixture);
    expect(texts.map((text) => [...tokenizer.encode(text)])).toEqual(theirs.ids);
    expect(theirs.ids.map((ids) => tokenizer.decode(ids))).toEqual(theirs.decoded);
    const rendered = chats.map(({ messages, ...options }) =>
      tokenizer.applyChatTemplate(messages, options),
    );
    expect(rendered).toEqual(theirs.chats);
    const encoded = chats.map(({ messages, ...options }) => [
      ...tokenizer.encodeChat(messages, options),
    ]);
    expect(encoded).toEqual(theirs.chatIds);
  },
);

test('the Python script to compare with exists', () => {
  expect(readFileSync(script, 'utf8')).toContain('save_pretrained');
});
