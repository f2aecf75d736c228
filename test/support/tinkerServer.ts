/**
 * A training service of the Tinker API in this process: real HTTP, and a second, slow writing of what such
 * services do.
 *
 * Its policy is a table: the log-prob of a token after another is a row of a softmax. Losses, gradients and
 * Adam are written out in float64, token by token, so that a step can be checked against what our own losses
 * say of the same table. How services differ (reduction, numbers, dialects of "not yet" and "failed", results
 * that are given once) is chosen.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { adapterArchive } from './adapterArchive.ts';

export const VOCABULARY = 24;

export interface TinkerDialect {
  readonly reduction: 'sequence-mean' | 'sum';
  /** A request under a number that was there gives the first one's future. */
  readonly deduplicates: boolean;
  /** How "not yet" is said, once for every future. */
  readonly notYet: '408' | 'try_again' | 'held';
  readonly failed: '400' | '200';
  /** A result is given once. */
  readonly once: boolean;
  /** Betas, epsilon and decay are taken from the request. */
  readonly adam: boolean;
  readonly clips: boolean;
  /** The two passes are taken with packed numbers, too. */
  readonly packed: boolean;
  /** Of Millrace's losses, those that are said to be computed as Millrace does. */
  readonly losses: readonly string[];
  /** Sampling a snapshot puts it into the model that made it. */
  readonly samplingReverts: boolean;
  readonly modelsMax: number;
  readonly baseModel: string;
  /** '' = none is asked for. */
  readonly key: string;
}

export const skyrlJax: TinkerDialect = {
  ...{ reduction: 'sequence-mean', deduplicates: false, notYet: '408', failed: '400' },
  ...{ once: false, adam: true, clips: false, packed: false, losses: [] },
  samplingReverts: true,
  ...{ modelsMax: 7, baseModel: 'table', key: '' },
};
export const summing: TinkerDialect = {
  ...skyrlJax,
  ...{ reduction: 'sum', deduplicates: true, notYet: 'try_again', failed: '200', clips: true },
  samplingReverts: false,
};
export const giveOnce: TinkerDialect = { ...summing, deduplicates: false, once: true, adam: false };

/** What is done to a request: nothing; not taken; taken, and its reply lost; another status. */
export type Fate =
  | 'lost before'
  | 'lost after'
  /** Of an archive. */
  | 'cut short'
  | { readonly status: number; readonly body?: unknown };

export interface TinkerRequest {
  readonly route: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of all routes
  readonly body: any;
  readonly key: string | undefined;
}

export interface TinkerServer {
  readonly url: string;
  readonly seen: readonly TinkerRequest[];
  /** Steps that models made, in order: the gradient that each was made with. */
  readonly steps: Float64Array[];
  readonly models: ReadonlyMap<string, TableModel>;
  /** Asked of every request, heartbeats left out. */
  fate: (request: TinkerRequest) => Fate | undefined;
  /** Ends every connection and forgets all models; what was saved stays, unless `all`. */
  restart(all?: boolean): void;
  /** Does not answer until it is called with false. */
  down(is: boolean): void;
  close(): Promise<void>;
}

export interface TableModel {
  /** [VOCABULARY × VOCABULARY] logits, row by the token before. */
  readonly weights: Float64Array;
  readonly mean: Float64Array;
  readonly square: Float64Array;
  updates: number;
  /** Of every sequence since the last step. */
  gradients: Float64Array[];
  readonly requests: Map<number, string>;
}

type Kept = Pick<TableModel, 'weights' | 'mean' | 'square' | 'updates'>;

const SIZE = VOCABULARY * VOCABULARY;
const ADAM = { beta1: 0.9, beta2: 0.95, eps: 1e-12, weight_decay: 0 };

/** The policy before any training. */
export function baseTable(): Float64Array {
  return Float64Array.from({ length: SIZE }, (_, i) => Math.sin(i * 1.7) * 1.5);
}

/** Log-prob of `next` after `before`. */
export function tableLogProb(weights: Float64Array, before: number, next: number): number {
  const row = weights.subarray(before * VOCABULARY, (before + 1) * VOCABULARY);
  const top = Math.max(...row);
  const total = row.reduce((sum, logit) => sum + Math.exp(logit - top), 0);
  return (row[next] as number) - top - Math.log(total);
}

/** Adds slope · d log-prob / d logits. */
export function addSlope(
  gradient: Float64Array,
  weights: Float64Array,
  {
    before,
    next,
    slope,
  }: { readonly before: number; readonly next: number; readonly slope: number },
): void {
  for (let token = 0; token < VOCABULARY; token++) {
    const share = Math.exp(tableLogProb(weights, before, token));
    gradient[before * VOCABULARY + token]! += slope * ((token === next ? 1 : 0) - share);
  }
}

export async function tinkerServer(dialect: TinkerDialect = skyrlJax): Promise<TinkerServer> {
  let models = new Map<string, TableModel>();
  const saved = new Map<string, Kept>();
  let futures = new Map<string, { result: unknown; error?: string; asked: number }>();
  let sessions = new Set<string>();
  const seen: TinkerRequest[] = [];
  const steps: Float64Array[] = [];
  let count = 0;
  let isDown = false;
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const future = (work: () => unknown): string => {
    const id = String(++count);
    try {
      futures.set(id, { result: work(), asked: 0 });
    } catch (error) {
      futures.set(id, { result: null, error: (error as Error).message, asked: 0 });
    }
    return id;
  };
  const modelOf = (id: string): TableModel => {
    const model = models.get(id);
    if (model === undefined) throw new Error(`Model ${id} not loaded (likely stale request)`);
    return model;
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const bytes = Buffer.concat(parts);
    const packed = bytes.toString('latin1', 0, 8) === 'MILLPAK1';
    const text = packed ? '' : bytes.toString();
    const route = (request.url ?? '').replace(/^\/api\/v1\//, '');
    const key = request.headers['x-api-key'];
    const one = {
      route,
      body: packed ? unpacked(bytes) : text === '' ? null : JSON.parse(text),
      key: typeof key === 'string' ? key : undefined,
    };
    if (isDown) return void request.socket.destroy();
    seen.push(one);
    const fate = route === 'session_heartbeat' ? undefined : running.fate(one);
    if (fate === 'lost before') return void request.socket.destroy();
    if (typeof fate === 'object' && typeof fate.body === 'string')
      return void response.writeHead(fate.status).end(fate.body);
    if (typeof fate === 'object')
      return send(response, fate.status, fate.body ?? { detail: 'told to' });
    const [status, body] = reply(one);
    if (fate === 'lost after') return void request.socket.destroy();
    if (body instanceof Uint8Array && fate === 'cut short') {
      const half = body.subarray(0, body.length >> 1);
      response.writeHead(status, { 'content-length': body.length });
      return void response.write(half, () => request.socket.destroy());
    }
    if (body instanceof Uint8Array) return void response.writeHead(status).end(body);
    send(response, status, body);
  }

  function reply({ route, body, key }: TinkerRequest): [status: number, body: unknown] {
    if (dialect.key !== '' && key !== dialect.key) return [401, { detail: `invalid key '${key}'` }];
    if (route.startsWith('training_runs/')) return archive(route);
    switch (route) {
      case 'get_server_capabilities':
        return [
          200,
          {
            supported_models: [{ model_name: dialect.baseModel }],
            ...(dialect.packed ? { packed: 1, millrace_losses: dialect.losses } : {}),
          },
        ];
      case 'create_session': {
        const id = `session_${++count}`;
        sessions.add(id);
        return [200, { session_id: id, type: 'create_session' }];
      }
      case 'session_heartbeat':
        return sessions.has(body.session_id)
          ? [200, { type: 'session_heartbeat' }]
          : [404, { detail: 'Session not found' }];
      case 'retrieve_future':
        return retrieved(body.request_id);
      default:
        return submitted(route, body);
    }
  }

  function retrieved(id: string): [number, unknown] {
    const found = futures.get(id);
    if (found === undefined) return [404, { detail: 'Future not found' }];
    if (found.asked++ === 0 && dialect.notYet !== 'held') {
      return dialect.notYet === '408'
        ? [408, { detail: 'Timeout' }]
        : [200, { type: 'try_again', queue_state: 'active' }];
    }
    if (dialect.once)
      futures.set(id, { result: null, error: 'result already retrieved', asked: 2 });
    if (found.error === undefined) return [200, found.result];
    return dialect.failed === '400'
      ? [400, { detail: found.error }]
      : [200, { error: found.error, category: 'server' }];
  }

  function submitted(route: string, body: TinkerRequest['body']): [number, unknown] {
    if (route === 'create_model') {
      if (!sessions.has(body.session_id)) return [404, { detail: 'Session not found' }];
      const id = `model_${++count}`;
      return pending(
        future(() => create(id, body)),
        { model_id: id },
      );
    }
    const model = models.get(body.model_id);
    if (dialect.deduplicates && model !== undefined) {
      const before = model.requests.get(body.seq_id);
      if (before !== undefined) return pending(before);
    }
    const done = operations[route];
    if (done === undefined) return [404, { detail: 'Not Found' }];
    if (route.startsWith('save_') && saved.has(placeOf(route, body)))
      return [409, { detail: `Checkpoint '${body.path}' already exists` }];
    const id = future(() =>
      body.packed === true ? packedReply(done(body), body.sums === true) : done(body),
    );
    model?.requests.set(body.seq_id, id);
    return pending(id);
  }

  function create(id: string, { lora_config: { rank } }: TinkerRequest['body']): unknown {
    if (models.size >= dialect.modelsMax)
      throw new Error(`Maximum number of LoRA adapters (${dialect.modelsMax}) reached`);
    if (rank > 32) throw new Error(`LoRA rank ${rank} must be between 1 and 32`);
    const zeros = () => new Float64Array(SIZE);
    models.set(id, {
      ...{ weights: baseTable(), mean: zeros(), square: zeros(), updates: 0 },
      ...{ gradients: [], requests: new Map() },
    });
    return { model_id: id, base_model: dialect.baseModel, lora_config: { rank } };
  }

  const placeOf = (route: string, { model_id: id, path }: TinkerRequest['body']): string =>
    `tinker://${id}/${route === 'save_weights' ? 'weights' : 'sampler_weights'}/${path}`;

  const keep = (route: string, body: TinkerRequest['body']): unknown => {
    const { weights, mean, square, updates } = modelOf(body.model_id);
    const copy = { weights: weights.slice(), mean: mean.slice(), square: square.slice(), updates };
    saved.set(placeOf(route, body), copy);
    return { path: placeOf(route, body), type: route };
  };

  const operations: Record<string, (body: TinkerRequest['body']) => unknown> = {
    forward: (body) => pass(modelOf(body.model_id), body.forward_input, false),
    forward_backward: (body) => pass(modelOf(body.model_id), body.forward_backward_input, true),
    optim_step: ({ model_id: id, adam_params: params }) => optimise(modelOf(id), params),
    save_weights: (body) => keep('save_weights', body),
    save_weights_for_sampler: (body) => keep('save_weights_for_sampler', body),
    load_weights({ model_id: id, path }) {
      const kept = saved.get(path);
      if (kept === undefined) throw new Error(`Checkpoint not found: ${path}`);
      const model = modelOf(id);
      model.weights.set(kept.weights);
      model.mean.set(kept.mean);
      model.square.set(kept.square);
      model.updates = kept.updates;
      return { type: 'load_weights' };
    },
    unload_model({ model_id: id }) {
      modelOf(id);
      models.delete(id);
      return { model_id: id, status: 'unloaded', type: 'unload_model' };
    },
    asample: (body) => sample(body),
  };

  function pass(
    model: TableModel,
    { data, loss_fn: name, loss_fn_config: config = {} }: TinkerRequest['body'],
    backward: boolean,
  ): unknown {
    const tokenLoss = tokenLosses[name];
    if (tokenLoss === undefined) throw new Error(`'${name}'`);
    const sums = { loss: 0, tokens: 0, clipped: 0, drift: 0, apart: 0, apart_max: 0 };
    const outputs = data.map(
      ({ model_input: input, loss_fn_inputs: given }: TinkerRequest['body']) => {
        const tokens: number[] = input.chunks[0].tokens;
        const targets: number[] = given.target_tokens.data;
        const weights: number[] = (given.weights?.data ?? tokens.map(() => 1)).map(Math.fround);
        const gradient = new Float64Array(SIZE);
        const share =
          dialect.reduction === 'sum'
            ? 1
            : 1 /
              Math.max(
                weights.reduce((sum, weight) => sum + weight, 0),
                1e-9,
              );
        const logProbs = targets.map((next, place) => {
          const before = tokens[place] as number;
          const logProb = tableLogProb(model.weights, before, next);
          const weight = weights[place] ?? 0;
          if (backward && weight !== 0) {
            const token = {
              logProb,
              // All services take them as float32.
              advantage: Math.fround(given.advantages?.data[place] ?? 0),
              old: Math.fround(given.logprobs?.data[place] ?? 0),
              low: config.clip_low_threshold ?? 0.8,
              high: config.clip_high_threshold ?? 1.2,
              dual: config.clip_dual ?? 3,
              keeps: config.keep_clipped === 1,
            };
            const { slope: tokenSlope, loss } = tokenLoss(token);
            const drift = token.old - logProb;
            sums.loss += weight * loss;
            sums.tokens += 1;
            sums.clipped += isHeld(name, token) ? 1 : 0;
            sums.drift += drift;
            sums.apart += Math.abs(drift);
            sums.apart_max = Math.max(sums.apart_max, Math.abs(drift));
            const slope = weight * tokenSlope * share;
            addSlope(gradient, model.weights, { before, next, slope });
          }
          return Math.fround(logProb);
        });
        if (backward) model.gradients.push(gradient);
        const tensor = { data: logProbs, dtype: 'float32', shape: [logProbs.length] };
        return { logprobs: tensor, elementwise_loss: tensor };
      },
    );
    return {
      ...{ loss_fn_output_type: 'scalar', loss_fn_outputs: outputs },
      metrics: { 'loss:sum': sums.loss },
      sums,
    };
  }

  function optimise(model: TableModel, params: TinkerRequest['body']): unknown {
    const count = dialect.reduction === 'sum' ? 1 : Math.max(1, model.gradients.length);
    const gradient = new Float64Array(SIZE);
    for (const each of model.gradients)
      for (let i = 0; i < SIZE; i++) gradient[i]! += (each[i] as number) / count;
    model.gradients = [];
    const norm = Math.hypot(...gradient);
    const most = dialect.clips ? (params.grad_clip_norm ?? 0) : 0;
    const scale = most > 0 && norm > most ? most / norm : 1;
    const { beta1, beta2, eps, weight_decay: decay } = dialect.adam ? params : ADAM;
    const { learning_rate: lr } = params;
    model.updates++;
    for (let i = 0; i < SIZE; i++) {
      const g = (gradient[i] as number) * scale;
      model.mean[i] = beta1 * (model.mean[i] as number) + (1 - beta1) * g;
      model.square[i] = beta2 * (model.square[i] as number) + (1 - beta2) * g * g;
      const mean = (model.mean[i] as number) / (1 - beta1 ** model.updates);
      const square = (model.square[i] as number) / (1 - beta2 ** model.updates);
      const step = mean / (Math.sqrt(square) + eps) + decay * (model.weights[i] as number);
      model.weights[i]! -= lr * step;
    }
    if (lr > 0) steps.push(gradient);
    return { metrics: { 'skyrl.ai/grad_norm': norm, 'skyrl.ai/learning_rate': lr } };
  }

  /** The likeliest token always: what is drawn does not matter here. */
  function sample({
    model_path: path,
    prompt,
    sampling_params: params,
    num_samples: n,
  }: TinkerRequest['body']) {
    const kept = saved.get(path);
    if (kept === undefined) throw new Error(`Checkpoint not found: ${path}`);
    const [, id] = /^tinker:\/\/([^/]+)\//.exec(path) ?? [];
    const live = models.get(id ?? '');
    if (dialect.samplingReverts) {
      if (live === undefined) throw new Error(`Model ${id} not loaded`);
      live.weights.set(kept.weights);
    }
    const given: number[] = prompt.chunks[0].tokens;
    const one = () => {
      const tokens: number[] = [];
      const logprobs: number[] = [];
      while (tokens.length < params.max_tokens) {
        const before = tokens.at(-1) ?? (given.at(-1) as number);
        const all = Array.from({ length: VOCABULARY }, (_, next) =>
          tableLogProb(kept.weights, before, next),
        );
        const next = all.indexOf(Math.max(...all));
        tokens.push(next);
        logprobs.push(all[next] as number);
        if ((params.stop ?? []).includes(next)) return { stop_reason: 'stop', tokens, logprobs };
      }
      return { stop_reason: 'length', tokens, logprobs };
    };
    const prompts = given
      .slice(1)
      .map((next, i) => tableLogProb(kept.weights, given[i] as number, next));
    return { sequences: Array.from({ length: n }, one), prompt_logprobs: prompts, type: 'sample' };
  }

  function archive(route: string): [number, unknown] {
    const [, id, name] =
      /^training_runs\/([^/]+)\/checkpoints\/([^/]+)\/archive$/.exec(route) ?? [];
    const kept = saved.get(`tinker://${id}/sampler_weights/${name}`);
    if (kept === undefined) return [404, { detail: `Checkpoint not found: ${id}/${name}` }];
    return [200, new Uint8Array(gzipSync(adapterArchive(kept.weights)))];
  }

  const running: TinkerServer = {
    url,
    seen,
    steps,
    get models() {
      return models;
    },
    fate: () => undefined,
    restart(all = false) {
      models = new Map();
      server.closeAllConnections();
      if (!all) return;
      sessions = new Set();
      futures = new Map();
    },
    down(is) {
      isDown = is;
      if (is) server.closeAllConnections();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return running;
}

interface Token {
  readonly logProb: number;
  readonly old: number;
  readonly advantage: number;
  readonly low: number;
  readonly high: number;
  readonly dual: number;
  readonly keeps: boolean;
}

interface TokenLoss {
  readonly loss: number;
  /** d loss / d log-prob. */
  readonly slope: number;
}

/** Of a token, by the loss's name. */
const tokenLosses: Record<string, (token: Token) => TokenLoss> = {
  cross_entropy: ({ logProb }) => ({ loss: -logProb, slope: -1 }),
  importance_sampling({ logProb, old, advantage }) {
    const loss = -Math.exp(logProb - old) * advantage;
    return { loss, slope: loss };
  },
  cispo({ logProb, old, advantage, low, high }) {
    const slope = -Math.min(Math.max(Math.exp(logProb - old), low), high) * advantage;
    return { loss: slope * logProb, slope };
  },
  clipped({ logProb, old, advantage, low, high, dual, keeps }) {
    const ratio = Math.exp(logProb - old);
    const plain = -advantage * ratio;
    if (advantage >= 0) {
      if (ratio <= high) return { loss: plain, slope: plain };
      return { loss: -advantage * high, slope: keeps ? -advantage * high : 0 };
    }
    if (ratio >= dual) return { loss: -advantage * dual, slope: 0 };
    return ratio < low ? { loss: -advantage * low, slope: 0 } : { loss: plain, slope: plain };
  },
};

/** Whether the clipping of a loss holds a token, as docs/metrics.md counts it. */
function isHeld(name: string, { logProb, old, advantage, low, high }: Token): boolean {
  const ratio = Math.exp(logProb - old);
  if (name === 'cispo') return ratio < low || ratio > high;
  return advantage > 0 ? ratio > high : advantage < 0 && ratio < low;
}

function pending(id: string, more: object = {}): [number, unknown] {
  return [200, { future_id: id, request_id: id, status: 'pending', ...more }];
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** A packed request, read number by number, as the JSON that it stands for. */
function unpacked(bytes: Buffer): TinkerRequest['body'] {
  let at = 12 + bytes.readUInt32LE(8);
  const { lengths, tensors, ...head } = JSON.parse(bytes.toString('utf8', 12, at));
  const next = (count: number, read: (at: number) => number): number[] =>
    Array.from({ length: count }, () => {
      at += 4;
      return read(at - 4);
    });
  const tokens: number[][] = lengths.map((length: number) =>
    next(length + 1, (from) => bytes.readInt32LE(from)),
  );
  const values = tensors.map((name: string) => [
    name,
    lengths.map((length: number) => next(length, (from) => bytes.readFloatLE(from))),
  ]);
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes are left`);
  const data = tokens.map((own, row) => ({
    model_input: { chunks: [{ tokens: own.slice(0, -1) }] },
    loss_fn_inputs: {
      target_tokens: { data: own.slice(1) },
      ...Object.fromEntries(
        values.map(([name, lists]: [string, number[][]]) => [name, { data: lists[row] }]),
      ),
    },
  }));
  const { loss_fn, loss_fn_config } = head;
  return { ...head, packed: true, [`${head.type}_input`]: { data, loss_fn, loss_fn_config } };
}

function packedReply(result: unknown, sums: boolean): Buffer {
  if (sums) {
    const said = JSON.stringify((result as TinkerRequest['body']).sums);
    const start = Buffer.alloc(12);
    start.write('MILLPAK1');
    start.writeUInt32LE(said.length, 8);
    return Buffer.concat([start, Buffer.from(said)]);
  }
  const { loss_fn_outputs: outputs } = result as TinkerRequest['body'];
  const lists: number[][] = outputs.map((output: TinkerRequest['body']) => output.logprobs.data);
  const text = JSON.stringify({ lengths: lists.map(({ length }) => length) });
  const head = Buffer.alloc(12);
  head.write('MILLPAK1');
  head.writeUInt32LE(text.length, 8);
  const numbers = Buffer.alloc(4 * lists.flat().length);
  for (const [i, value] of lists.flat().entries()) numbers.writeFloatLE(value, 4 * i);
  return Buffer.concat([head, Buffer.from(text), numbers]);
}
