/**
 * What our engine costs a real inference server: `npm run bench:servers`.
 *
 * vLLM on this machine's CPU serves a small random checkpoint. Its own benchmark (`vllm bench serve`) and our
 * engine send it the same prompts, ask for as many tokens of each, keep the same number of requests under
 * way, and take turns. A tool call of zero length follows each of our generations: the next one begins at
 * once. Then the same for agents behind the gateway; and how long new weights take from the trainer's file to
 * the first token that they made.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { draws } from '../base/draws.ts';
import { sleepClock } from '../base/sleepClock.ts';
import { policyChat } from '../gateway/index.ts';
import { digestAt } from '../model/checkpoints/digest.ts';
import type { Checkpoint, Generation, PolicyEngine } from '../model/engine.ts';
import { loadChatTokenizer } from '../model/hf/index.ts';
import { loadPolicy } from '../model/hf/loadPolicy.ts';
import { initialAdapter, LORA_TARGETS } from '../model/hf/lora.ts';
import { saveAdapterFile } from '../model/hf/publishedAdapter.ts';
import { savePolicy } from '../model/policyFile.ts';
import { serverEngine, serverSettings } from '../model/remote/serverEngine.ts';
import { loadTokenizer } from '../model/tokenizers/loadTokenizer.ts';
import { environmentOf, install, serversFolder } from '../scripts/servers/install.ts';
import { SERVED_AS } from '../scripts/servers/kinds.ts';
import { start, stop, urlOf } from '../scripts/servers/running.ts';
import type { HostOptions, Opened } from './gateway/messages.ts';
import { ask, end as endProcesses, started } from './gateway/processes.ts';
import { benchmark, count, counts } from './options.ts';
import { folderOnDisk, median, print, type Row, timeMs } from './table.ts';

interface Options {
  readonly json: boolean;
  readonly atOnce: readonly number[];
  readonly tokens: number;
  readonly turns: number;
  readonly port: number;
  readonly url: string;
  readonly model: string;
  readonly python: string;
}

const { json, atOnce, tokens, turns, port, ...given } = benchmark(
  'npm run bench:servers',
  `Tokens per second of a real vLLM through our engine, beside vLLM's own benchmark with the same prompts and lengths; and the
time from published weights to the first token that they made. Installs vLLM where it is not there (6.6 GB).`,
)
  .option('--at-once <numbers>', 'requests under way at once', counts, [1, 8, 64])
  .option('--tokens <n>', 'tokens of each generation', count, 64)
  .option('--turns <n>', 'turns of each side; odd', count, 5)
  .option('--port <n>', 'where the server listens', count, 8090)
  .option(
    '--url <url>',
    'of a vLLM that runs already, on a GPU say; none is installed or started',
    '',
  )
  .option('--model <folder>', 'with --url: the checkpoint that it serves, as `policy`', '')
  .option('--python <path>', 'with --url: its interpreter, for `vllm bench serve`', 'python3')
  .parse()
  .opts<Options>();

const tell = (line: string): void => console.error(line);
const WORDS =
  'the river runs through a town of seven bridges and nobody knows who built them first'.split(' ');

/** Prompts of some sixty words, all different. */
function promptsOf(many: number): string[] {
  return Array.from({ length: many }, (_, prompt) => {
    const stream = draws('bench', prompt);
    return Array.from({ length: 60 }, (_, i) => WORDS[stream.integer(i, WORDS.length)]).join(' ');
  });
}

async function checkpoint(): Promise<string> {
  const folder = join(serversFolder(), 'checkpoints', 'bench');
  if (existsSync(join(folder, 'config.json'))) return folder;
  const args = ['scripts/servers/tinyCheckpoint.py', folder, '--hidden', '512', '--layers', '6'];
  const made = spawnSync(python, args, { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  return folder;
}

/** What our requests ask of a server above text: the log-prob of each token, and draws of their own. */
const OUR_ANSWER = { logprobs: 0, seed: 1 };

/** How `vllm bench serve` asks. */
interface Manner {
  readonly backend: 'openai' | 'openai-chat';
  readonly endpoint: string;
  /** For all tokens; otherwise an answer may end before them. */
  readonly whole: boolean;
  /** More fields of each request. */
  readonly body: Readonly<Record<string, unknown>>;
}

const COMPLETIONS = { backend: 'openai', endpoint: '/v1/completions', whole: true } as const;

/** Tokens per second of `vllm bench serve`. */
function theirs(
  url: string,
  model: string,
  prompts: string,
  concurrency: number,
  { backend, endpoint, whole, body }: Manner,
): number {
  const many = readFileSync(prompts, 'utf8').trim().split('\n').length;
  const result = join(scratch, 'theirs.json');
  rmSync(result, { force: true });
  const args = [
    ...['-m', 'vllm.entrypoints.cli.main', 'bench', 'serve', '--backend', backend],
    ...['--base-url', url, '--endpoint', endpoint, '--model', SERVED_AS],
    ...['--tokenizer', model, '--dataset-name', 'custom', '--dataset-path', prompts],
    ...['--custom-output-len', String(tokens), '--skip-chat-template'],
    ...(whole ? ['--ignore-eos'] : []),
    ...['--disable-shuffle', '--num-prompts', String(many)],
    ...['--max-concurrency', String(concurrency), '--temperature', '1', '--num-warmups', '0'],
    ...['--extra-body', JSON.stringify(body)],
    ...['--save-result', '--result-dir', scratch, '--result-filename', 'theirs.json'],
  ];
  const ran = spawnSync(python, args, {
    encoding: 'utf8',
    env: { ...process.env, HF_HUB_OFFLINE: '1', VLLM_NO_USAGE_STATS: '1' },
  });
  assert.equal(ran.status, 0, `${ran.stdout}\n${ran.stderr}`);
  const said = JSON.parse(readFileSync(result, 'utf8')) as {
    output_throughput: number;
    total_output_tokens: number;
    completed: number;
  };
  assert.equal(said.completed, many);
  if (whole)
    assert.equal(said.total_output_tokens, many * tokens, 'every generation has all its tokens');
  return said.output_throughput;
}

interface Ours {
  readonly tokensPerSecond: number;
  /** Of this process, as a part of one core. */
  readonly processorShare: number;
}

function generated(
  engine: PolicyEngine,
  prompt: Int32Array,
  of: readonly (string | number)[],
): Promise<Generation> {
  return engine.generate({
    tokens: prompt,
    maxTokens: tokens,
    temperature: 1,
    stopTokens: [],
    draws: ['bench', ...of],
    topLogProbs: 0,
  });
}

async function ours(
  engine: PolicyEngine,
  prompts: readonly Int32Array[],
  concurrency: number,
): Promise<Ours> {
  let next = 0;
  let made = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < prompts.length; at = next++) {
      const generation = await generated(engine, prompts[at]!, [round, at]);
      made += generation.tokens.length;
    }
  };
  round++;
  // the server's benchmark tries one request too before it measures: a server that has been idle is slow to
  // begin
  await Promise.all(
    prompts.slice(0, 1).map((prompt) => generated(engine, prompt, [round, 'first'])),
  );
  const before = process.cpuUsage();
  const ms = await timeMs(() => Promise.all(Array.from({ length: concurrency }, worker)));
  const { user, system } = process.cpuUsage(before);
  assert.equal(made, prompts.length * tokens, 'every generation has all its tokens');
  return { tokensPerSecond: (1000 * made) / ms, processorShare: (user + system) / 1000 / ms };
}

let round = 0;
const scratch = resolve(folderOnDisk('bench-servers'));
const python = given.url === '' ? join(environmentOf('vllm'), 'bin', 'python') : given.python;

async function rateRows(url: string, model: string, engine: PolicyEngine): Promise<Row[]> {
  const tokenizer = await loadTokenizer(model);
  const rows: Row[] = [];
  for (const concurrency of atOnce) {
    const texts = promptsOf(Math.max(16, 4 * concurrency));
    const file = join(scratch, `prompts-${concurrency}.jsonl`);
    writeFileSync(file, texts.map((prompt) => `${JSON.stringify({ prompt })}\n`).join(''));
    const encoded = texts.map((text) => tokenizer.encode(text));
    await ours(engine, encoded, concurrency);
    const measured: { readonly mine: Ours; readonly same: number; readonly plain: number }[] = [];
    for (let turn = 0; turn < turns; turn++) {
      // a later one finds the machine warmer, or busier
      const first = turn % 2 === 0 ? await ours(engine, encoded, concurrency) : null;
      const same = theirs(url, model, file, concurrency, { ...COMPLETIONS, body: OUR_ANSWER });
      const mine = first ?? (await ours(engine, encoded, concurrency));
      const plain = theirs(url, model, file, concurrency, { ...COMPLETIONS, body: {} });
      measured.push({ mine, same, plain });
      const rates = [mine.tokensPerSecond, same, plain].map(Math.round);
      tell(
        `${concurrency} at once: ${rates[0]}, vllm bench serve ${rates[1]}, and ${rates[2]} without log-probs, tokens/s`,
      );
    }
    const what = `rollouts through our engine, ${concurrency} at once`;
    const beside = (against: string, theirs: (turn: (typeof measured)[number]) => number): Row => ({
      ...{ what, against, goal: 0.95, unit: 'tokens/s' },
      // neighbours in time had the same machine
      ratio: median(measured.map((turn) => turn.mine.tokensPerSecond / theirs(turn))),
      ours: median(measured.map(({ mine }) => mine.tokensPerSecond)),
      theirs: median(measured.map(theirs)),
    });
    rows.push(
      beside('vllm bench serve, the same answer', ({ same }) => same),
      beside('vllm bench serve, without log-probs', ({ plain }) => plain),
      {
        ...{ what: `processor time of our side, ${concurrency} at once`, against: 'one core' },
        ...{ goal: null, atMost: true, unit: 'cores', theirs: 1 },
        ratio: median(measured.map(({ mine }) => mine.processorShare)),
        ours: median(measured.map(({ mine }) => mine.processorShare)),
      },
    );
  }
  return rows;
}

/** As the gateway asks a server: with log-probs, draws and the policy's own ends of a turn. */
async function asTheGateway(model: string): Promise<Manner> {
  const { stopTokens } = policyChat(await loadChatTokenizer(model), model);
  return {
    ...{ backend: 'openai-chat', endpoint: '/v1/chat/completions', whole: false },
    body: { logprobs: true, seed: 1, stop_token_ids: [...stopTokens] },
  };
}

/** Agents of one call each through the gateway, beside the server's own benchmark without it. */
async function gatewayRow(url: string, model: string): Promise<Row> {
  const concurrency = Math.max(...atOnce);
  const texts = promptsOf(4 * concurrency);
  const file = join(scratch, 'chat.jsonl');
  writeFileSync(file, texts.map((prompt) => `${JSON.stringify({ prompt })}\n`).join(''));
  const log = folderOnDisk('bench-servers-gateway');
  const manner = await asTheGateway(model);
  const options: HostOptions = { folder: model, model: url, servedAs: SERVED_AS, log };
  const { child } = await started('host.ts', [JSON.stringify(options)], ['--expose-gc']);
  try {
    const through = async (): Promise<number> => {
      const opened = await ask<Opened>(child, { kind: 'open', count: texts.length });
      return agents(opened, texts, concurrency);
    };
    await through();
    const measured: { readonly mine: number; readonly direct: number }[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const first = turn % 2 === 0 ? await through() : null;
      const direct = theirs(url, model, file, concurrency, manner);
      const mine = first ?? (await through());
      measured.push({ mine, direct });
      tell(
        `gateway, ${concurrency} at once: ${Math.round(mine)}, vllm bench serve ${Math.round(direct)} tokens/s`,
      );
    }
    return {
      what: `agents through the gateway, ${concurrency} at once`,
      against: 'vllm bench serve without it, the same answer',
      ratio: median(measured.map(({ mine, direct }) => mine / direct)),
      ours: median(measured.map(({ mine }) => mine)),
      theirs: median(measured.map(({ direct }) => direct)),
      ...{ goal: 0.95, unit: 'tokens/s' },
    };
  } finally {
    endProcesses();
    rmSync(log, { recursive: true, force: true });
  }
}

/** Tokens per second of as many agents at once, each with a session and one question. */
async function agents(
  { url, keys }: Opened,
  texts: readonly string[],
  concurrency: number,
): Promise<number> {
  let next = 0;
  let made = 0;
  const agent = async (): Promise<void> => {
    for (let at = next++; at < texts.length; at = next++) {
      const reply = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${keys[at]}` },
        body: JSON.stringify({
          ...{ model: SERVED_AS, max_tokens: tokens },
          messages: [{ role: 'user', content: texts[at] }],
        }),
      });
      const said = await reply.text();
      assert.equal(reply.status, 200, said);
      const { usage } = JSON.parse(said) as { usage: { completion_tokens: number } };
      made += usage.completion_tokens;
    }
  };
  const ms = await timeMs(() => Promise.all(Array.from({ length: concurrency }, agent)));
  return (1000 * made) / ms;
}

/**
 * From `load` of a trainer's file to the first token that the version made; theirs = one token without it.
 */
async function publishRow(
  what: string,
  engine: PolicyEngine,
  versions: readonly Checkpoint[],
): Promise<Row> {
  const one = () =>
    engine.generate({
      tokens: Int32Array.of(5, 6, 7, 8),
      maxTokens: 1,
      temperature: 1,
      stopTokens: [],
      draws: ['first', round++],
      topLogProbs: 0,
    });
  const [published, plain]: [number[], number[]] = [[], []];
  for (const version of versions) {
    published.push(
      await timeMs(async () => {
        await engine.load(version);
        assert.equal((await one()).version, version.version);
      }),
    );
    plain.push(await timeMs(one));
  }
  const [mine, yours] = [median(published), median(plain)];
  return {
    what,
    against: 'one token of weights that are there',
    ratio: mine / yours,
    goal: null,
    atMost: true,
    unit: 'ms',
    ours: mine,
    theirs: yours,
    note: 'folder written, read back, loaded',
  };
}

async function adapters(model: string): Promise<Checkpoint[]> {
  const { config } = await loadPolicy(model);
  const made: Checkpoint[] = [];
  for (const version of [1, 2, 3]) {
    const initial = { rank: 16, alpha: 32, targets: LORA_TARGETS, base: model };
    const adapter = initialAdapter(config, initial, version);
    for (const { b } of adapter.modules.values()) b.data.fill(0.001 * version);
    const uri = join(scratch, `adapter-${version}.safetensors`);
    await saveAdapterFile(uri, adapter);
    made.push({ version, uri, digest: await digestAt(uri) });
  }
  return made;
}

async function policies(model: string): Promise<Checkpoint[]> {
  const policy = await loadPolicy(model);
  const made: Checkpoint[] = [];
  for (const version of [1, 2, 3]) {
    const uri = join(scratch, `policy-${version}.safetensors`);
    policy.tensors.get('model.norm.weight')!.data[0]! += 0.01;
    await savePolicy(uri, policy);
    made.push({ version, uri, digest: await digestAt(uri) });
  }
  return made;
}

async function engineOn(url: string, model: string, publish: 'adapter' | 'full') {
  const settings = z.object(serverSettings).parse({
    urls: url,
    model: SERVED_AS,
    publish,
    share: join(scratch, 'published'),
  });
  const engine = await serverEngine('vllm', settings, {
    policy: model,
    policyName: SERVED_AS,
    tokenizer: await loadTokenizer(model),
    contextMax: 512,
    folder: scratch,
    clock: sleepClock({ now: () => performance.now() }),
    print: tell,
  });
  await engine.load({ version: 0, uri: model, digest: await digestAt(model) });
  return engine;
}

/** The server that was named, or one of our own. */
async function served(): Promise<{ url: string; model: string; end(): Promise<void> }> {
  if (given.url !== '') return { url: given.url, model: given.model, end: async () => undefined };
  await install('vllm', tell);
  mkdirSync(join(serversFolder(), 'checkpoints'), { recursive: true });
  const model = await checkpoint();
  const server = await start({
    kind: 'vllm',
    port,
    model,
    more: ['--max-model-len', '2048'],
    tell,
  });
  return { url: urlOf(server), model, end: () => stop(server) };
}

const { url, model, end } = await served();
try {
  const rows: Row[] = [];
  const engine = await engineOn(url, model, 'adapter');
  rows.push(...(await rateRows(url, model, engine)));
  rows.push(await gatewayRow(url, model));
  rows.push(
    await publishRow(
      'an adapter of rank 16 published to its first token',
      engine,
      await adapters(model),
    ),
  );
  await engine.close();
  const whole = await engineOn(url, model, 'full');
  rows.push(
    await publishRow('all weights published to their first token', whole, await policies(model)),
  );
  await whole.close();
  print('Servers', rows, json);
} finally {
  await end();
  rmSync(scratch, { recursive: true, force: true });
}
