/**
 * Files that mean harm, each of a megabyte at most: what reads one, and the code of the error that it has to
 * end in.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { parseSettings } from '../../cli/settingsFile.ts';
import { chatTemplate } from '../../model/chat/chatTemplate.ts';
import { readAdapter } from '../../model/hf/adapterFiles.ts';
import { bpeTokenizer } from '../../model/hf/bpeTokenizer.ts';
import { openPolicy } from '../../model/hf/loadPolicy.ts';
import { loadAdapterFile } from '../../model/hf/publishedAdapter.ts';
import { openRows } from '../../sources/openRows.ts';
import { byteBpeJson } from '../support/byteBpe.ts';
import { attachments } from './attachments.ts';

export interface HostileFile {
  /** Of the error; `read` where the file may also be read, soon and in little memory. */
  readonly code: string;
  /** `folder` is empty and its own. */
  readonly read: (folder: string) => unknown;
}

const MB = 1_000_000;

function write(folder: string, name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

const template = (source: string): HostileFile => ({
  code: 'CHAT_TEMPLATE',
  read: () => chatTemplate('t', source, {}).render([{ role: 'user', content: 'hello there' }]),
});

const grows = (start: string, next: string): HostileFile =>
  template(
    `{% set n = namespace(x=${start}) %}{% for i in range(80) %}{% set n.x = ${next} %}{% endfor %}{{ n.x|length }}`,
  );

const templates = {
  'loops in loops': template(
    `${'{% for a in range(100000) %}'.repeat(3)}${'{% endfor %}'.repeat(3)}`,
  ),
  'a range of floats': template('{% for i in range(0, 1, 1e-8) %}{{ i }}{% endfor %}'),
  'text that doubles': grows('"ab"', 'n.x ~ n.x'),
  'a message that doubles': grows('messages[0].content', 'n.x + n.x'),
  'a list that doubles': grows('[1, 2]', 'n.x + n.x'),
  'a list that is repeated': grows('[1, 2]', 'n.x * 2'),
  'replacements that grow': grows('"aa"', 'n.x.replace("a", "aaaa")'),
  'joins that grow': grows('"aa"', '[n.x, n.x, n.x]|join(",")'),
  'a number that grows': grows('3', 'n.x * n.x'),
  'text that is gone through again and again': template(
    '{% set x = "a" * 10000000 %}{% for i in range(100000) %}{% if x|length %}{% endif %}{% endfor %}',
  ),
  'white space that is trimmed again and again': template(
    '{% set x = " " * 1000000 ~ "a" ~ " " * 1000000 ~ "b" %}{% for i in range(1000) %}{{ x|trim|length }}{% endfor %}',
  ),
  'a macro that calls itself twice': template(
    '{% macro m(n) %}{% if n > 1 %}{{ m(n - 1) }}{{ m(n - 2) }}{% endif %}{% endmacro %}{{ m(60) }}',
  ),
  'a macro that calls itself': template('{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(1) }}'),
  ...Object.fromEntries(
    [
      '"%.999999999f" % 1.5',
      '"%999999999d" % 1',
      '"{:>400000000}".format("a")',
      '"a"|center(400000000)',
      '"a".ljust(400000000)',
      '"a".zfill(400000000)',
      '"a\\nb"|indent(400000000)',
      '[[1]]|tojson(indent=400000000)',
      '[1]|batch(400000000, 0)|list|length',
      '[1]|slice(400000000)|list|length',
      '1.5|round(400000000)',
      '(9 ** 9999) ** 9',
    ].map((expression) => [expression, template(`{{ ${expression} }}`)]),
  ),
  'lists in lists': template(
    '{% set n = namespace(x=["a"]) %}{% for i in range(100000) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x }}',
  ),
  'dicts in dicts, as JSON': template(
    '{% set n = namespace(x=1) %}{% for i in range(100000) %}{% set n.x = {"a": n.x} %}{% endfor %}{{ n.x|tojson }}',
  ),
  'lists in lists that are compared': template(
    '{% set n = namespace(x=[], y=[]) %}{% for i in range(50000) %}{% set n.x = [n.x] %}{% set n.y = [n.y] %}{% endfor %}{{ n.x == n.y }}',
  ),
  'filters of filters': template(
    '{% set n = namespace(x=["a"]) %}{% for i in range(50000) %}{% set n.x = n.x|map("title") %}{% endfor %}{{ n.x|list }}',
  ),
  'a namespace in itself': template('{% set n = namespace(x=1) %}{% set n.x = n %}{{ n }}'),
  'a macro that looks for a pattern at every depth': template(
    `{% macro m(n) %}${['title', 'trim', 'wordcount', 'urlize', 'string', 'upper'].map((f) => `{% if false %}{{ 'a'|${f} }}{% endif %}`).join('')}{{ m(n ~ 'a b'|title ~ ' x '.split()|length) }}{% endmacro %}{{ m('') }}`,
  ),
  'a long sum': template(`{{ 1${' + 1'.repeat(45_000)} }}`),
  'many negations': template(`{{ ${'not '.repeat(45_000)}a }}`),
  'many signs': template(`{{ ${'-'.repeat(190_000)}1 }}`),
  'many conditions': template(`{{ ${'1 if a else '.repeat(15_000)}1 }}`),
  'many brackets': template(`{{ ${'('.repeat(90_000)}1${')'.repeat(90_000)} }}`),
  'many blocks': template('{% if true %}'.repeat(8_000) + '{% endif %}'.repeat(8_000)),
  'a megabyte of expressions': template('{{ a }}'.repeat(MB / 7)),
  'a megabyte of white space': template(`${' '.repeat(MB - 40)}x{%- if true %}{% endif %}`),
  'many digits': template(`{{ ${'9'.repeat(190_000)} }}`),
};

const isolated = (pattern: string) => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
});

const tokenizer = (part: object, code = 'TOKENIZER'): HostileFile => ({
  code,
  read: () => {
    const made = bpeTokenizer('t', { ...byteBpeJson(), ...part });
    return made.decode(made.encode(`${'a'.repeat(40)}!`)).length;
  },
});

const nested = (type: string, inner: string, depth: number): object =>
  Array.from({ length: depth }).reduce<object>((part) => ({ type, [inner]: [part] }), {
    type: 'Digits',
  });

const tokenizers = {
  'a pattern that goes back': tokenizer({ pre_tokenizer: isolated('(a+)+$') }),
  'a pattern that goes back in the normaliser': tokenizer({
    normalizer: { type: 'Replace', pattern: { Regex: '(a+)+$' }, content: '' },
  }),
  'a pattern that goes back in the decoder': tokenizer({
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'ByteLevel' },
        { type: 'Replace', pattern: { Regex: '(a+)+$' }, content: '' },
      ],
    },
  }),
  'a long pattern': tokenizer({ pre_tokenizer: isolated('\\p{L}|'.repeat(100_000)) }),
  'a pattern of brackets': tokenizer({ pre_tokenizer: isolated('('.repeat(400_000)) }),
  'a pattern of patterns': tokenizer(
    { pre_tokenizer: isolated(`${'(?:a|'.repeat(800)}a${')'.repeat(800)}`) },
    'read',
  ),
  'a pattern of too many patterns': tokenizer({
    pre_tokenizer: isolated(`${'(?:a|'.repeat(20_000)}a${')'.repeat(20_000)}`),
  }),
  'no pattern': tokenizer({ pre_tokenizer: isolated('('.repeat(4_000)) }),
  'many steps': tokenizer({
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: Array.from({ length: 9_000 }, () => isolated(' ')),
    },
  }),
  'steps in steps': tokenizer({ pre_tokenizer: nested('Sequence', 'pretokenizers', 900) }),
  'many steps in steps': tokenizer({ normalizer: nested('Sequence', 'normalizers', 20_000) }),
  'a huge id': tokenizer({ model: { type: 'BPE', vocab: { a: 2 ** 53 - 1 }, merges: [] } }),
  'many added tokens': tokenizer(
    {
      added_tokens: Array.from({ length: 9_000 }, (_, i) => ({
        ...{ id: 300 + i, content: `${'a'.repeat(30)}${i}`, special: true, normalized: false },
      })),
    },
    'read',
  ),
};

function safetensors(header: string | object, bytes = 0): Uint8Array {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, Buffer.alloc(bytes)]);
}

const policyFile = (header: string | object, bytes = 0, code = 'CHECKPOINT'): HostileFile => ({
  code,
  read: (folder) => openPolicy(write(folder, 'policy.safetensors', safetensors(header, bytes))),
});

const tensor = (start: number, floats: number) => ({
  dtype: 'F32',
  shape: [floats],
  data_offsets: [start, start + 4 * floats],
});

const LLAMA = {
  ...{ model_type: 'llama', vocab_size: 10, hidden_size: 8, num_hidden_layers: 1 },
  ...{ num_attention_heads: 2, intermediate_size: 8 },
};

const configured = (config: object | string, code = 'MODEL_CONFIG'): HostileFile => ({
  code,
  read: (folder) => {
    write(
      folder,
      'config.json',
      typeof config === 'string' ? config : JSON.stringify({ ...LLAMA, ...config }),
    );
    write(folder, 'model.safetensors', safetensors({ a: tensor(0, 1) }, 4));
    return openPolicy(folder);
  },
});

const SMALL = {
  ...{ architecture: 'llama', vocabSize: 10, hiddenSize: 8, layers: 1, heads: 2, kvHeads: 2 },
  ...{ intermediateSize: 8, maxPositions: 9, ropeTheta: 1e4, rmsEps: 1e-6 },
  ...{ attentionBias: false, tiedEmbeddings: true },
};
const own = (config: object): object => ({ __metadata__: { config: JSON.stringify(config) } });

const checkpoints = {
  '300,000 layers': configured({ num_hidden_layers: 300_000 }),
  'layers beyond counting': configured({ num_hidden_layers: 2 ** 53 - 1 }),
  'a huge width': configured({ hidden_size: 2 ** 53 - 2 }),
  'brackets without end': configured('['.repeat(MB), 'CHECKPOINT'),
  '300,000 layers in the metadata': policyFile(
    own({ ...SMALL, layers: 300_000 }),
    0,
    'MODEL_CONFIG',
  ),
  'layers that are no number': policyFile(own({ ...SMALL, layers: 'many' }), 0, 'MODEL_CONFIG'),
  'a tensor twice': policyFile(
    `{"a":${JSON.stringify(tensor(0, 1))},"a":${JSON.stringify(tensor(0, 2))}}`,
    8,
  ),
  'a tensor twice, spelt otherwise': policyFile(
    `{"a":${JSON.stringify(tensor(0, 1))},"\\u0061":${JSON.stringify(tensor(0, 2))}}`,
    8,
  ),
  'a field twice': policyFile(
    '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"shape":[1]}}',
    4,
  ),
  'tensors over each other': policyFile({ a: tensor(0, 2), b: tensor(4, 1) }, 8),
  'tensors with a gap': policyFile({ a: tensor(0, 1), b: tensor(8, 1) }, 12),
  'shapes in shapes': policyFile(
    `{"a":{"dtype":"F32","shape":${'['.repeat(300_000)}${']'.repeat(300_000)}}}`,
  ),
  'a shape of many sizes': policyFile({
    a: { dtype: 'F32', shape: Array.from({ length: 400_000 }, () => 0), data_offsets: [0, 0] },
  }),
  'many tensors': policyFile(
    Object.fromEntries(Array.from({ length: 15_000 }, (_, i) => [`t${i}`, tensor(0, 0)])),
  ),
  'metadata that is none': policyFile({ __metadata__: 7 }),
  'metadata of no text': policyFile({ __metadata__: { config: 7 } }),
};

const factors = (modules: readonly string[]): Record<string, object> =>
  Object.fromEntries(
    modules.flatMap((module, i) => [
      [`base_model.model.${module}.lora_A.weight`, { ...tensor(8 * i, 1), shape: [1, 1] }],
      [`base_model.model.${module}.lora_B.weight`, { ...tensor(8 * i + 4, 1), shape: [1, 1] }],
    ]),
  );

const adapter = (config: object, modules: readonly string[], code = 'CHECKPOINT'): HostileFile => ({
  code,
  read: (folder) => {
    const given = { peft_type: 'LORA', r: 1, lora_alpha: 1, ...config };
    write(folder, 'adapter_config.json', JSON.stringify(given));
    const bytes = safetensors(factors(modules), 8 * modules.length);
    write(folder, 'adapter_model.safetensors', bytes);
    return readAdapter(folder);
  },
});

const adapterMetadata = (text: string): HostileFile => ({
  code: 'CHECKPOINT',
  read: (folder) => {
    const bytes = safetensors({ __metadata__: { adapter: text } });
    return loadAdapterFile(write(folder, 'adapter.safetensors', bytes));
  },
});

const adapters = {
  'a pattern that goes back': adapter({ rank_pattern: { '(a+)+': 1 } }, [`${'a'.repeat(40)}!`]),
  'a pattern of patterns': adapter(
    { rank_pattern: { [`${'(?:a|'.repeat(20_000)}a${')'.repeat(20_000)}`]: 1 } },
    ['q'],
    'MODEL_CONFIG',
  ),
  'many patterns': adapter(
    { rank_pattern: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`x${i}`, 1])) },
    ['q'],
    'MODEL_CONFIG',
  ),
  'many patterns for many modules': adapter(
    { rank_pattern: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`x${i}`, 1])) },
    Array.from({ length: 1_000 }, (_, i) => `layers.${i}.q`),
  ),
  'a huge rank': adapter({ r: 2 ** 53 - 1 }, ['q']),
  'metadata that is no JSON': adapterMetadata('{'),
  'metadata of a number': adapterMetadata('7'),
  'metadata without tensors': adapterMetadata(
    JSON.stringify({ rank: 1, alpha: 1, stabilised: false, base: 'b', scales: { q: 1 } }),
  ),
};

const rows = (name: string, content: string | Uint8Array, code = 'read'): HostileFile => ({
  code,
  read: async (folder) => {
    const file = await openRows(write(folder, name, content), 'questions file', () => null);
    let count = 0;
    for await (const _ of file.rows) count++;
    return count;
  },
});

const questions = {
  'brackets without end': rows('q.json', '['.repeat(MB), 'QUESTIONS_FILE'),
  'objects in objects': rows(
    'q.json',
    `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
    'QUESTIONS_FILE',
  ),
  'brackets that close': rows('q.json', '['.repeat(MB / 2) + ']'.repeat(MB / 2)),
  'brackets in a row': rows('q.json', `[{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}]`),
  'brackets in a line': rows('q.jsonl', `{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}`),
  'many empty rows': rows('q.jsonl', '{}\n'.repeat(MB / 3)),
  'many columns': rows('q.csv', `a${',a'.repeat(MB / 2 - 1)}\n`),
  'many rows': rows('q.csv', `id\n${'1\n'.repeat(MB / 2 - 2)}`),
  'records that are all malformed': rows('q.csv', `a,b\n${'"a"b,"c"d\n'.repeat(MB / 10 - 1)}`),
  'lines that all end within a cell': rows('q.csv', `a,b\n${'a"b,c\n'.repeat(MB / 6 - 1)}`),
  'quotes alone': rows('q.csv', `id\n${'"'.repeat(MB - 4)}`),
  'a quote that never closes': rows('q.csv', `id\n${`"\n${'1\n'.repeat(999)}`.repeat(499)}`),
  ...Object.fromEntries(
    // Written by pyarrow: a list of 20,000,000 equal answers, a million equal rows, a text of 400 MB; 15 kB
    // at most.
    Object.entries({ list: 'QUESTIONS_FILE', million: 'read', pages: 'QUESTIONS_FILE' }).map(
      ([name, code]) => [
        `the Parquet file ${name}`,
        {
          code,
          read: async () => {
            const path = fileURLToPath(new URL(`./fixtures/${name}.parquet`, import.meta.url));
            for await (const _ of (await openRows(path, 'questions file', () => null)).rows);
          },
        },
      ],
    ),
  ),
  'no Parquet': rows('q.parquet', 'PAR1'.repeat(MB / 4), 'QUESTIONS_FILE'),
};

const settings = (text: string, code = 'USAGE'): HostileFile => ({
  code,
  read: () => parseSettings(text, 's.yaml', z.object({ a: z.any(), b: z.any().optional() })),
});

const yaml = {
  'aliases that multiply': settings(
    `a: &a [${Array(9).fill('x').join()}]\n${[...'bcdefghij'].map((c, i) => `${c}: &${c} [${Array(9).fill(`*${'abcdefghi'[i]}`).join()}]`).join('\n')}`,
  ),
  'brackets without end': settings(`a: ${'['.repeat(MB - 3)}`),
  'some brackets without end': settings(`a: ${'['.repeat(99_000)}`),
  'brackets that close': settings(`a: ${'['.repeat(49_000)}${']'.repeat(49_000)}`),
  'lists in lists in a line': settings(`a:\n  ${'- '.repeat(49_000)}1`),
  'keys of keys': settings(`${'? '.repeat(49_000)}a`),
  'aliases in lists in aliases': settings(
    Array.from(
      { length: 99 },
      (_, i) => `k${i}: &k${i} ${'['.repeat(18)}${i === 0 ? '1' : `*k${i - 1}`}${']'.repeat(18)}`,
    ).join('\n'),
  ),
  'maps in maps': settings(`a: ${'{a: '.repeat(20_000)}${'}'.repeat(20_000)}`),
  'many keys': settings(Array.from({ length: 9_000 }, (_, i) => `k${i}: 1`).join('\n')),
  'a key of many parts': settings(`${'a.'.repeat(49_000)}a: 1`),
  'many documents': settings('---\n'.repeat(24_000)),
};

export const hostileFiles: Readonly<Record<string, Readonly<Record<string, HostileFile>>>> = {
  templates,
  tokenizers,
  checkpoints,
  adapters,
  questions,
  settings: yaml,
  attachments,
};
