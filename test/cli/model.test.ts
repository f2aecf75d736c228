/** `millrace model`: policies made, looked at and converted, through the command line. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { writeRunRecord } from '../../cli/runRecord.ts';
import { logFolder } from '../../cli/runs.ts';
import { sameInputs, tokenizerFiles } from '../../jobs/inputs.ts';
import { readAdapter, writeAdapter } from '../../model/hf/adapterFiles.ts';
import { loadPolicy } from '../../model/hf/loadPolicy.ts';
import { initialAdapter, mergedWeights } from '../../model/hf/lora.ts';
import { loadAdapterFile, saveAdapterFile } from '../../model/hf/publishedAdapter.ts';
import { loadTokenizer } from '../../model/tokenizers/loadTokenizer.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { topics } from '../../topics/index.ts';
import { bytesOf, tiny } from '../model/gguf/tinyGguf.ts';
import { temporaryFolder } from '../support/folder.ts';
import { COMMIT, startHub } from '../support/hubServer.ts';
import { weights as manifest } from '../support/weights.ts';
import { fakeIo } from './support/fakeIo.ts';
import { record as synthetic } from './support/syntheticRun.ts';

const folder = temporaryFolder();
const at = (...names: string[]) => join(folder.path, ...names);
const tokenizer = fileURLToPath(new URL('../model/hf/fixtures/tokenizer', import.meta.url));
afterAll(() => folder.remove());

async function model(...args: string[]) {
  const io = fakeIo(folder.path);
  const code = await main(['model', ...args], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}
const SHAPE = [
  '--hidden',
  '16',
  '--layers',
  '1',
  '--heads',
  '2',
  '--kv-heads',
  '1',
  '--intermediate',
  '24',
  '--vocab',
  '30',
];

beforeAll(async () => {
  expect((await model('init', 'first', ...SHAPE, '--seed', '3')).code).toBe(0);
});

test('model init writes the same bytes for the same seed, as a folder or as one file', async () => {
  await model('init', 'again', ...SHAPE, '--seed', '3');
  await model('init', 'other', ...SHAPE, '--seed', '4');
  const bytes = (name: string) => readFileSync(at(name, 'model.safetensors'));
  expect(bytes('again')).toEqual(bytes('first'));
  expect(bytes('other')).not.toEqual(bytes('first'));
  const { code, out } = await model('init', 'one.safetensors', ...SHAPE, '--seed', '3', '--json');
  expect(code).toBe(0);
  const { sha256, ...said } = JSON.parse(out);
  expect(said).toMatchObject({ path: at('one.safetensors'), kind: 'file', overflowed: 0 });
  expect(await loadPolicy(at('one.safetensors'), sha256)).toEqual(await loadPolicy(at('first')));
});

test('model init takes the vocabulary and the files of a tokenizer', async () => {
  const { code } = await model(
    'init',
    'spoken',
    '--tokenizer',
    tokenizer,
    '--architecture',
    'llama',
    '--dtype',
    'bf16',
  );
  expect(code).toBe(0);
  expect(readdirSync(at('spoken')).sort()).toEqual([
    'config.json',
    'model.safetensors',
    'tokenizer.json',
    'tokenizer_config.json',
  ]);
  const { out } = await model('inspect', 'spoken', '--json');
  expect(JSON.parse(out)).toMatchObject({
    kind: 'folder',
    config: { architecture: 'llama', vocabSize: 429 },
    dtypes: { BF16: 20 },
    tokenizer: { vocabSize: 429, chat: true },
    problems: [],
  });
});

test.each([
  ['init', []],
  ['convert', ['first']],
  ['add-tags', ['spoken']],
])('%s --json shows control characters in a name as text', async (command, from) => {
  const name = `${command}-\u202e`;
  const { code, out } = await model(
    command,
    ...from,
    name,
    ...(from.length ? [] : SHAPE),
    '--json',
  );
  expect([code, out]).toEqual([0, expect.stringContaining(`${command}-\\u202e`)]);
  expect(JSON.parse(out).path).toBe(at(name));
});

test('model init copies the shape of a configuration', async () => {
  const { out } = await model('init', 'shaped', '--config', 'first/config.json', '--json');
  expect(JSON.parse(out).config).toEqual((await loadPolicy(at('first'))).config);
});

test.each<[message: string, args: string[]]>([
  ['Allowed choices are tiny, 4m', ['init', 'x', '--size', 'huge']],
  ['1 or more', ['init', 'x', '--layers', '0']],
  ['invalid shape: heads (3)', ['init', 'x', '--heads', '3', '--kv-heads', '2']],
  [
    'the tokenizer has 429 tokens but the policy only 5',
    ['init', 'x', '--tokenizer', tokenizer, '--vocab', '5'],
  ],
  ['Allowed choices are f32, f16, bf16, keep', ['convert', 'first', 'x', '--dtype', 'i8']],
  [
    "'--config <config.json>' cannot be used with option '--layers <N>'",
    ['init', 'x', '--config', 'first/config.json', '--layers', '2'],
  ],
  ["missing required argument 'to'", ['convert', 'first']],
])('a wrong command line of model is refused: %s', async (message, args) => {
  const { code, err } = await model(...args);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
});

test('model inspect lists every tensor, and exits with 1 and the reason if something is wrong', async () => {
  const good = await model('inspect', 'first');
  expect(good.code).toBe(0);
  expect(good.out).toMatch(
    /network +qwen3: 1 layer of 16, 2 heads of 8 over 1, feed-forward 24, 30 tokens \(tied head\)/,
  );
  expect(good.out).toMatch(/problems +none/);
  expect(good.out).toMatch(/model\.layers\.0\.self_attn\.k_norm\.weight +\[8\] +F32 +8\n/);

  await model('convert', 'first', 'bad');
  const weights = readFileSync(at('bad', 'model.safetensors'));
  weights.writeFloatLE(Number.NaN, weights.length - 4);
  writeFileSync(at('bad', 'model.safetensors'), weights);
  const json = readFileSync(at('bad', 'config.json'), 'utf8');
  writeFileSync(at('bad', 'config.json'), json.replace('"vocab_size": 30', '"vocab_size": 31'));
  const bad = await model('inspect', 'bad');
  expect(bad.code).toBe(1);
  expect(bad.out).toMatch(
    /problem +tensor 'model\.embed_tokens\.weight' should be \[31, 16\], not \[30, 16\]/,
  );
  expect(bad.out).toMatch(/problem +tensor 'model\.norm\.weight' has 1 non-finite number/);
  writeFileSync(at('bad', 'model.safetensors'), weights.subarray(0, -1));
  const cut = await model('inspect', 'bad');
  expect({ code: cut.code, err: cut.err }).toEqual({
    code: 1,
    err: expect.stringMatching(/^error \(CHECKPOINT\): .*cut short: tensor 'model.norm.weight'/),
  });
});

test('model convert writes a folder in another format, and one file again', async () => {
  const there = await model(
    'convert',
    'first',
    'half',
    '--dtype',
    'bf16',
    '--shard-bytes',
    '2000',
    '--json',
  );
  expect(there.code).toBe(0);
  expect(readdirSync(at('half'))).toContain('model.safetensors.index.json');
  expect((await model('convert', 'half', 'half.safetensors')).code).toBe(0);
  const file = await loadPolicy(at('half.safetensors'));
  expect(file).toEqual(await loadPolicy(at('half'), JSON.parse(there.out).sha256));
  expect((await model('inspect', 'half.safetensors', '--json')).out).toContain('"dtypes":{"BF16":');
  const again = await model('convert', 'half', 'half.safetensors');
  expect({ code: again.code, err: again.err }).toEqual({
    code: 1,
    err: expect.stringContaining('already exists'),
  });
});

test('model convert merges an adapter, and inspect shows it', async () => {
  const { config, tensors } = await loadPolicy(at('first'));
  const fresh = initialAdapter(config, { rank: 2, alpha: 4, targets: ['q_proj'] }, 1);
  const module = 'model.layers.0.self_attn.q_proj';
  const { a, b, scale } = fresh.modules.get(module)!;
  const factors = { a, b: { shape: b.shape, data: b.data.map((_, i) => i / 10) }, scale };
  await writeAdapter(at('adapter'), { ...fresh, modules: new Map([[module, factors]]) });
  const shown = await model('inspect', 'adapter');
  expect(shown.code).toBe(0);
  expect(shown.out).toMatch(/rank +2, alpha 4/);
  expect(shown.out).toContain(`${module}.lora_A`);
  expect((await model('convert', 'first', 'merged', '--adapter', 'adapter')).code).toBe(0);
  const after = (await loadPolicy(at('merged'))).tensors;
  expect(after.get(`${module}.weight`)).toEqual(
    mergedWeights(tensors.get(`${module}.weight`)!, factors),
  );
  expect(after.get('model.norm.weight')).toEqual(tensors.get('model.norm.weight'));
  const wrong = await model('convert', 'spoken', 'x', '--adapter', 'adapter');
  expect({ code: wrong.code, err: wrong.err }).toEqual({
    code: 1,
    err: expect.stringContaining('it was trained on a different model'),
  });
});

test('model convert makes a policy of an adapter that a run wrote', async () => {
  const { config, tensors } = await loadPolicy(at('first'));
  const fresh = initialAdapter(config, { rank: 2, alpha: 4, targets: ['q_proj'] }, 1);
  const module = 'model.layers.0.self_attn.q_proj';
  const { a, b, scale } = fresh.modules.get(module)!;
  const factors = { a, b: { shape: b.shape, data: b.data.map((_, i) => i / 10) }, scale };
  const modules = new Map([[module, factors]]);
  await saveAdapterFile(at('000003.safetensors'), { ...fresh, base: at('first'), modules });
  expect((await model('convert', '000003.safetensors', 'whole')).code).toBe(0);
  expect((await loadPolicy(at('whole'))).tensors.get(`${module}.weight`)).toEqual(
    mergedWeights(tensors.get(`${module}.weight`)!, factors),
  );
  await expect(loadPolicy(at('000003.safetensors'))).rejects.toMatchObject({
    code: 'CHECKPOINT',
    message: expect.stringContaining('is an adapter, not a policy'),
  });
});

test('model convert writes the adapter of a run in the layout of PEFT', async () => {
  const out = ['000003.safetensors', 'peft', '--peft', '--base', 'Org/Base'];
  expect(await model('convert', ...out)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^wrote .*peft: an adapter of rank 2 for Org\/Base, /),
  });
  const [there, here] = [
    await readAdapter(at('peft')),
    await loadAdapterFile(at('000003.safetensors')),
  ];
  expect(there).toMatchObject({ base: 'Org/Base', rank: 2, alpha: 4, modules: here!.modules });
  // What PEFT merges of it is what we merge of the run's.
  expect((await model('convert', 'first', 'twice', '--adapter', 'peft')).code).toBe(0);
  expect((await loadPolicy(at('twice'))).tensors).toEqual((await loadPolicy(at('whole'))).tensors);
  expect((await model('inspect', '000003.safetensors')).out).toMatch(/adapter +.*\(LoRA\)/);
  expect(await model('convert', 'first', 'none', '--peft')).toMatchObject({
    code: 1,
    err: expect.stringContaining('is a whole policy, not an adapter: convert it without --peft'),
  });
  const both = await model('convert', 'first', 'none', '--peft', '--adapter', 'adapter');
  expect(both.code).toBe(2);
});

test('model convert and inspect take a run whose job names its first policy by a setting of its own', async () => {
  const run = at('runs', 'mine');
  mkdirSync(join(run, 'weights'), { recursive: true });
  const { policy: _, ...settings } = synthetic.settings as Record<string, unknown>;
  await writeRunRecord(run, { ...synthetic, settings, status: 'done' });
  await model('convert', 'first', 'runs/mine/weights/000001.safetensors');
  const log = await openLog({ folder: logFolder(run), mode: 'write' });
  await log.commit((tx) => {
    const uri = 'weights/000001.safetensors';
    tx.append(topics.weights, { ...manifest(0, 1), version: 1, uri, digest: null });
  });
  await log.close();
  expect(await model('convert', 'runs/mine', 'tuned')).toMatchObject({
    code: 1,
    err: expect.stringContaining('does not say where its tokenizer is'),
  });
  await sameInputs(run, tokenizerFiles(tokenizer));
  expect(await model('convert', 'runs/mine', 'tuned')).toMatchObject({ code: 0, err: '' });
  expect(readdirSync(at('tuned'))).toEqual(
    expect.arrayContaining(['config.json', 'tokenizer.json']),
  );
  expect((await loadPolicy(at('tuned'))).tensors).toEqual((await loadPolicy(at('first'))).tensors);
  expect((await model('inspect', 'runs/mine@1')).out).toMatch(/policy +.*000001\.safetensors/);
});

test('model inspect takes a folder with one policy file, and a tokenizer that lacks bytes', async () => {
  mkdirSync(at('ours'));
  await model('convert', 'first', 'ours/policy.safetensors');
  expect(await model('inspect', 'ours')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/problems +none/),
  });
  await model('init', 'small', ...SHAPE.slice(0, -2), '--tokenizer', tokenizer);
  const file = at('small', 'tokenizer.json');
  const json = JSON.parse(readFileSync(file, 'utf8'));
  delete json.model.vocab['!'];
  json.model.merges = json.model.merges.filter(
    (merge: string | string[]) => ![merge].flat().join(' ').includes('!'),
  );
  for (const piece of Object.keys(json.model.vocab))
    if (piece.includes('!')) delete json.model.vocab[piece];
  writeFileSync(file, JSON.stringify(json));
  const shown = await model('inspect', 'small');
  expect(shown.out).toMatch(/note +the vocabulary lacks 1 of the 256 bytes/);
  expect([shown.code, shown.err]).toEqual([0, '']);
});

test('model convert says how many numbers a format cannot hold', async () => {
  await model('convert', 'first', 'big');
  const weights = readFileSync(at('big', 'model.safetensors'));
  weights.writeFloatLE(1e6, weights.length - 4);
  writeFileSync(at('big', 'model.safetensors'), weights);
  const { err, out } = await model('convert', 'big', 'big16', '--dtype', 'f16', '--json');
  expect(err).toBe('1 numbers were too large for the format and became infinite: use bf16 or f32');
  expect(JSON.parse(out).overflowed).toBe(1);
});

test('model convert makes a folder of a GGUF file, with its tokenizer and chat template', async () => {
  const { policy, ...file } = tiny('llama', 'smollm');
  writeFileSync(at('tiny.gguf'), bytesOf(file));
  const { code, out, err } = await model('convert', 'tiny.gguf', 'of-gguf', '--json');
  expect([code, err]).toEqual([0, '']);
  expect(JSON.parse(out)).toMatchObject({ kind: 'folder', config: { architecture: 'llama' } });
  expect((await loadPolicy(at('of-gguf'))).tensors).toEqual(policy);
  expect((await loadTokenizer(at('of-gguf'))).chat).toBe(true);
  expect(readdirSync(at('of-gguf')).sort()).toEqual([
    'config.json',
    'generation_config.json',
    'model.safetensors',
    'tokenizer.json',
    'tokenizer_config.json',
  ]);
});

test('model convert takes another tokenizer where that of a GGUF file is not known', async () => {
  const file = tiny('llama', 'tekken');
  writeFileSync(at('tekken.gguf'), bytesOf(file));
  const refused = await model('convert', 'tekken.gguf', 'of-tekken');
  expect(refused.code).not.toBe(0);
  expect(refused.err).toMatch(/its pre-tokenizer is tekken.*--tokenizer FOLDER/);
  expect(existsSync(at('of-tekken'))).toBe(false);
  const taken = await model('convert', 'tekken.gguf', 'of-tekken', '--tokenizer', tokenizer);
  expect([taken.code, taken.err]).toEqual([0, '']);
  expect(readFileSync(at('of-tekken', 'tokenizer.json'))).toEqual(
    readFileSync(join(tokenizer, 'tokenizer.json')),
  );
});

test('model inspect says what to do with a GGUF file', async () => {
  writeFileSync(at('whole.gguf'), bytesOf(tiny('llama')));
  const { code, err } = await model('inspect', 'whole.gguf');
  expect(code).not.toBe(0);
  expect(err).toMatch(
    /is a GGUF file: convert it \(npx millrace model convert .*whole.gguf FOLDER\)/,
  );
});

test('the help of model shows examples', async () => {
  expect((await model('convert', '--help')).out).toContain(
    'millrace model convert base/ merged/ --adapter adapter/',
  );
});

test('model pull prints the folder alone on stdout, which model inspect takes, and the rest on stderr', async () => {
  const names = ['config.json', 'model.safetensors'];
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(at('first', name))]));
  const hub = await startHub({ name: 'me/first', files });
  const before = { ...process.env };
  Object.assign(process.env, { HF_ENDPOINT: hub.url, HF_HOME: at('hf'), HF_TOKEN: 'hf_secret' });
  delete process.env.HF_HUB_CACHE;
  try {
    const pulled = await model('pull', 'me/first@main');
    expect(pulled.out).toBe(`${at('hf', 'hub', 'models--me--first', 'snapshots', COMMIT)}\n`);
    expect(pulled.err).toMatch(/^me\/first@main \(commit a1b2c3d4e5f6\): 2 files, .* free in /);
    expect(pulled.err).toMatch(/KiB of .* KiB$/);
    expect(pulled.err).not.toContain('hf_secret');
    expect((await model('inspect', pulled.out.trim())).code).toBe(0);
    const again = await model('pull', 'me/first', 'plain');
    expect(again).toMatchObject({ code: 0, out: `${at('plain')}\n` });
    await hub.close();
    const offline = await model('pull', 'me/first');
    expect(offline).toMatchObject({ code: 0, out: pulled.out });
    const none = await model('pull', 'me/other');
    expect(none).toMatchObject({ code: 1, out: '' });
    expect(none.err).toMatch(/^error \(HUB\): the Hub at .* cannot be reached/);
    expect(await model('pull', '../x')).toMatchObject({ code: 2, out: '' });
  } finally {
    for (const name of ['HF_ENDPOINT', 'HF_HOME', 'HF_TOKEN', 'HF_HUB_CACHE']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
    await hub.close().catch(() => undefined);
  }
});
