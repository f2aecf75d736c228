import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import type { DecoderConfig } from '../../../model/config.ts';
import type { GenerateRequest, Generation } from '../../../model/engine.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import {
  EmbeddedEngine,
  type EmbeddedEngineOptions,
} from '../../../model/rollout/embeddedEngine.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { request } from './fakeForward.ts';
import { strongWeights, TINY } from './tinyPolicy.ts';

let folder = '';
let path = '';
const clock = { now: () => 0 };

async function save(name: string, config: DecoderConfig, seed: number) {
  const file = join(folder, `${name}.safetensors`);
  const saved = await savePolicy(file, { config, tensors: strongWeights(config, seed) });
  return { uri: file, digest: saved.sha256 };
}

/** Run with an engine, and close it whatever happens. */
async function withEngine<Result>(
  options: Partial<EmbeddedEngineOptions>,
  run: (engine: EmbeddedEngine) => Promise<Result>,
): Promise<Result> {
  const all = { weights: path, threads: 1, rowsMax: 8, contextMax: 200, clock, ...options };
  const engine = await EmbeddedEngine.create(all);
  return run(engine).finally(() => engine.close());
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-engine-'));
  path = (await save('tiny', TINY, 1)).uri;
});

afterAll(() => rm(folder, { recursive: true }));

const random = draws('engine test');
const tokens = (key: number, length: number) =>
  Array.from({ length }, (_, i) => random.under(key).integer(i, TINY.vocabSize));

/** Three turns of a conversation in a group of four; prompts of a group are equal. */
async function conversation(
  engine: EmbeddedEngine,
  id: number,
): Promise<[GenerateRequest, Generation][]> {
  const turns: [GenerateRequest, Generation][] = [];
  let context = tokens(id >> 2, 3 + random.integer(id >> 2, 50));
  for (let turn = 0; turn < 3; turn++) {
    const asked = request(context, {
      maxTokens: 5 + random.integer(100 + id, 20),
      temperature: id % 5 === 0 ? 0 : 1,
      stopTokens: [7],
      draws: ['conversation', id],
    });
    const made = await engine.generate(asked);
    turns.push([asked, made]);
    context = [
      ...context,
      ...made.tokens,
      ...tokens(1000 + 10 * id + turn, 1 + random.integer(200 + id, 12)),
    ];
  }
  return turns;
}

/** Conversations, each started when the one `together` before it has ended. */
async function converse(engine: EmbeddedEngine, count: number, together: number) {
  const turns: [GenerateRequest, Generation][][] = [];
  const lane = async (start: number) => {
    for (let id = start; id < count; id += together) turns[id] = await conversation(engine, id);
  };
  await Promise.all(Array.from({ length: together }, (_, start) => lane(start)));
  return turns.flat();
}

/** Every bit of what was generated. */
function bits(turns: readonly [GenerateRequest, Generation][]) {
  return turns.map(([, made]) => ({
    tokens: [...made.tokens],
    logProbs: [
      ...new Int32Array(made.logProbs.buffer, made.logProbs.byteOffset, made.logProbs.length),
    ],
  }));
}

const QWEN3: DecoderConfig = {
  ...TINY,
  architecture: 'qwen3',
  headDim: 12,
  attentionBias: false,
  qkNorm: true,
  ropeScaling: { kind: 'yarn', factor: 4, originalMaxPositions: 32 },
};
const LLAMA3: DecoderConfig = {
  ...TINY,
  architecture: 'llama',
  outputBias: true,
  mlpBias: true,
  tiedEmbeddings: false,
  ropeScaling: {
    kind: 'llama3',
    factor: 8,
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalMaxPositions: 32,
  },
};

describe('EmbeddedEngine', () => {
  it.each([
    ['grouped-query attention', TINY],
    ['one query head a key head', { ...TINY, kvHeads: 4 }],
    [
      'untied head, no biases',
      { ...TINY, architecture: 'llama', tiedEmbeddings: false, attentionBias: false },
    ],
    ['Qwen3', QWEN3],
    ['weights in 8 bits', TINY, 'int8'],
    ['weights in 8 bits, every bias', LLAMA3, 'int8'],
  ] satisfies [string, DecoderConfig, EmbeddedEngineOptions['bits']?][])(
    'generates the same bits whatever the batch, the order, the threads and the reuse of prefixes (%s)',
    async (name, config, inBits: EmbeddedEngineOptions['bits'] = 'float32') => {
      const weights = (await save(name, config, 2)).uri;
      const run = (options: Partial<EmbeddedEngineOptions>, together: number) =>
        withEngine({ weights, bits: inBits, ...options }, (engine) =>
          converse(engine, 16, together),
        );
      const alone = bits(await run({ rowsMax: 1, prefixSlots: 0 }, 1));
      expect(bits(await run({ rowsMax: 16 }, 16))).toEqual(alone);
      expect(bits(await run({ rowsMax: 5, prefixSlots: 3, threads: 2 }, 11))).toEqual(alone);
      expect(bits(await run({ rowsMax: 16, prefixSlots: 0, contextMax: 500 }, 16))).toEqual(alone);
    },
  );

  it('generates the same bits when there are more threads than key heads and the context is long', async () => {
    const config = { ...TINY, kvHeads: 1, headDim: 64, layers: 1 };
    const weights = (await save('oneKeyHead', config, 3)).uri;
    const asked = [300, 280, 310].map((length, id) => request(tokens(id, length), { draws: [id] }));
    const run = (threads: number, rowsMax: number) =>
      withEngine({ weights, threads, rowsMax, contextMax: 400 }, async (engine) => {
        const made = await Promise.all(asked.map((each) => engine.generate(each)));
        return bits(asked.map((each, id) => [each, made[id]!]));
      });
    const alone = await run(1, 1);
    expect(await run(3, 1)).toEqual(alone);
    expect(await run(2, 3)).toEqual(alone);
  });

  it.each([
    ['Qwen2', TINY, 'float32', 1e-4],
    ['Qwen3 with YaRN', QWEN3, 'float32', 1e-4],
    ['Llama 3 with every bias', LLAMA3, 'float32', 1e-4],
    ['Llama 3 with every bias, in 8 bits', LLAMA3, 'int8', 0.3],
  ] as const)(
    'gives the log-probs that the trainer computes for the same tokens (%s)',
    async (name, config, inBits, most) => {
      const { uri: weights } = await save(`scored-${name}`, config, 4);
      const turns = await withEngine({ weights, bits: inBits }, (engine) => converse(engine, 8, 8));
      const trainer = await EmbeddedTrainer.create({ policy: weights });
      const scores = await trainer.score(
        turns.map(([asked, { tokens }]) => Int32Array.from([...asked.tokens, ...tokens])),
      );
      await trainer.close();
      let worst = 0;
      for (const [i, [asked, made]] of turns.entries()) {
        made.logProbs.forEach((logProb, t) => {
          worst = Math.max(
            worst,
            Math.abs(logProb - scores[i]!.logProbs[asked.tokens.length + t]!),
          );
        });
      }
      expect(worst).toBeLessThan(most);
      expect(worst > 1e-4).toBe(inBits === 'int8');
    },
  );

  it('copies what conversations share instead of computing it', async () => {
    await withEngine({ rowsMax: 16 }, async (engine) => {
      const turns = await converse(engine, 8, 8);
      const given = turns.reduce((sum, [asked]) => sum + asked.tokens.length - 1, 0);
      const { prefillTokens, reusedTokens, generatedTokens } = engine.stats();
      expect(prefillTokens + reusedTokens).toBe(given);
      expect(reusedTokens).toBeGreaterThan(2 * prefillTokens);
      expect(generatedTokens).toBe(turns.reduce((sum, [, made]) => sum + made.tokens.length, 0));
    });
  });

  it('opens its first weights when they are needed, if it is lazy', async () => {
    const next = await save('needed', TINY, 9);
    const asked = request([1, 2, 3], { draws: ['lazy'] });
    const wanted = await withEngine({ weights: next.uri }, (engine) => engine.generate(asked));
    const first = await withEngine({}, (engine) => engine.generate(asked));
    const missing = join(folder, 'no policy');
    await withEngine({ weights: missing, lazy: true }, async (engine) => {
      await expect(engine.generate(asked)).rejects.toMatchObject({ code: 'CHECKPOINT' });
      const other = { version: 1, ...next, digest: '0'.repeat(64) };
      await expect(engine.load(other)).rejects.toMatchObject({ code: 'DIGEST' });
      await engine.load({ version: 1, ...next });
      expect(await engine.generate(asked)).toMatchObject({ tokens: wanted.tokens, version: 1 });
    });
    await withEngine({ lazy: true }, async (engine) => {
      expect(await engine.generate(asked)).toMatchObject({ tokens: first.tokens, version: 0 });
      await engine.load({ version: 1, ...next });
      expect(await engine.generate(asked)).toMatchObject({ tokens: wanted.tokens, version: 1 });
    });
    await withEngine({ weights: missing, lazy: true }, async () => undefined);
  });

  it('serves the new weights after load, and the old ones when the new are refused', async () => {
    const next = await save('next', TINY, 9);
    const asked = request([1, 2, 3], { draws: ['load'] });
    await withEngine({}, async (engine) => {
      const before = await engine.generate(asked);
      await expect(engine.load({ version: 4, uri: next.uri, digest: '00' })).rejects.toThrow(
        'digest',
      );
      expect((await engine.generate(asked)).version).toBe(0);
      await engine.load({ version: 5, ...next });
      const after = await engine.generate(asked);
      expect([before.version, after.version]).toEqual([0, 5]);
      expect([...after.tokens]).not.toEqual([...before.tokens]);
      const fresh = await withEngine({ weights: { version: 5, ...next } }, (other) =>
        other.generate(asked),
      );
      expect(bits([[asked, after]])).toEqual(bits([[asked, fresh]]));
    });
  });

  it('refuses a file in which one bit was changed, and goes on with the policy it has', async () => {
    const next = await save('flipped', TINY, 9);
    const bytes = await readFile(next.uri);
    bytes[bytes.length - 3]! ^= 1;
    await writeFile(next.uri, bytes);
    const asked = request([1, 2, 3], { draws: ['flipped'] });
    await withEngine({}, async (engine) => {
      const before = await engine.generate(asked);
      await expect(engine.load({ version: 1, ...next })).rejects.toThrow('digest');
      expect(await engine.generate(asked)).toEqual(before);
    });
  });

  it('goes on when the file of its weights is removed, and when another takes its place', async () => {
    const asked = request([4, 5, 6], { draws: ['removed'] });
    const { uri: weights } = await save('removed', TINY, 3);
    const before = await withEngine({ weights }, (engine) => engine.generate(asked));
    await withEngine({ weights }, async (engine) => {
      await save('removed', TINY, 4);
      expect(bits([[asked, await engine.generate(asked)]])).toEqual(bits([[asked, before]]));
      await rm(weights);
      expect(bits([[asked, await engine.generate(asked)]])).toEqual(bits([[asked, before]]));
    });
  });

  it('ends a request whose signal aborts, with the reason, and goes on with the rest', async () => {
    await withEngine({}, async (engine) => {
      const abort = new AbortController();
      const long = engine.generate(request([1], { maxTokens: 190 }), abort.signal);
      const failed = expect(long).rejects.toThrow('enough');
      const other = engine.generate(request([2], { maxTokens: 20 }));
      abort.abort(new Error('enough'));
      await failed;
      expect((await other).tokens.length).toBe(20);
      await expect(engine.generate(request([1]), abort.signal)).rejects.toThrow('enough');
    });
  });

  it('rejects pending and later requests when it is closed', async () => {
    await withEngine({}, async (engine) => {
      const pending = [1, 2, 3].map((token) =>
        engine.generate(request([token], { maxTokens: 190 })),
      );
      const failed = Promise.all(pending.map((each) => expect(each).rejects.toThrow('closed')));
      await engine.close();
      await failed;
      await expect(engine.generate(request([1]))).rejects.toThrow('create another one');
    });
  });

  it('refuses a context that is too long or empty, and requests beyond its queue', async () => {
    await withEngine({ rowsMax: 1, waitingMax: 1 }, async (engine) => {
      await expect(engine.generate(request([]))).rejects.toThrow('empty');
      await expect(engine.generate(request(Array(200).fill(1)))).rejects.toThrow(
        'raise contextMax',
      );
      await expect(engine.generate(request([1], { maxTokens: 0 }))).rejects.toThrow('at least one');
      await expect(engine.generate(request([99]))).rejects.toThrow('token 99');
      const two = [engine.generate(request([1])), engine.generate(request([2]))];
      await expect(engine.generate(request([3]))).rejects.toThrow('raise waitingMax');
      await Promise.all(two);
    });
  });

  it('is not created from a file that is missing or has another digest', async () => {
    await expect(withEngine({ weights: join(folder, 'none') }, async () => 0)).rejects.toThrow(
      'ENOENT',
    );
    const weights = { version: 1, uri: path, digest: '00' };
    await expect(withEngine({ weights }, async () => 0)).rejects.toThrow('digest');
  });

  it('is not created with weights in 8 bits on another provider', async () => {
    const options = { bits: 'int8', provider: 'webgpu' } as const;
    await expect(withEngine(options, async () => 0)).rejects.toThrow('need provider=cpu');
  });
});
