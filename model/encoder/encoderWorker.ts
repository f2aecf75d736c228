/** Entry of the worker that encodes: it holds the network and the tokenizer. */
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { Moved, serve } from '../../base/index.ts';
import { fileDigest } from '../hf/fileDigest.ts';
import { readJson } from '../hf/readJson.ts';
import type { EncodedAs, EncoderOptions, EncoderSettings } from './encoder.ts';
import { readEncoderConfig } from './encoderConfig.ts';
import { encoderSettings } from './encoderSettings.ts';
import { type Network, openNetwork } from './network.ts';
import { poolRow } from './pooled.ts';
import { openTextTokens, type TextTokens } from './textTokens.ts';

export interface OpenEncoderCall {
  readonly folder: string;
  readonly options: EncoderOptions;
  readonly threads: number;
}

export interface OpenedEncoder {
  readonly dimensions: number;
  readonly settings: EncoderSettings;
  readonly digest: string;
}

export interface EncodeCall {
  readonly texts: readonly string[];
  readonly as: EncodedAs;
}

/**
 * Tokens per run of the network, including padding: its memory grows with them, and attention's with their
 * square.
 */
const TOKENS_MAX = 4096;

interface Opened extends OpenedEncoder {
  readonly network: Network;
  readonly tokens: TextTokens;
}

let opened: Opened | undefined;

/** Texts per run: neighbours in order of length. */
function* runs(rows: readonly (readonly number[])[]): Generator<readonly number[]> {
  const order = [...rows.keys()].sort((a, b) => rows[a]!.length - rows[b]!.length || a - b);
  let run: number[] = [];
  for (const index of order) {
    if ((run.length + 1) * rows[index]!.length > TOKENS_MAX && run.length > 0) {
      yield run;
      run = [];
    }
    run.push(index);
  }
  if (run.length > 0) yield run;
}

async function encode(
  { network, tokens, settings }: Pick<Opened, 'network' | 'tokens' | 'settings'>,
  { texts, as }: EncodeCall,
): Promise<Float32Array> {
  const prefix = as === 'query' ? settings.queryPrefix : settings.passagePrefix;
  const rows = texts.map((text) => tokens.encode(prefix + text, settings.tokensMax));
  let vectors = new Float32Array(0);
  for (const run of runs(rows)) {
    const batch = run.map((index) => rows[index]!);
    const width = Math.max(1, ...batch.map(({ length }) => length));
    const { data, size } = await network.run({ rows: batch, width });
    if (vectors.length === 0) vectors = new Float32Array(texts.length * size);
    const hidden = { data, width, size, lengths: batch.map(({ length }) => length) };
    for (const [row, index] of run.entries()) poolRow(hidden, row, settings, vectors, index * size);
  }
  return vectors;
}

/** Over the files that decide a vector, in order of their names. */
function digestOf(folder: string, files: readonly string[]): string {
  const all = [...files, join(folder, 'config.json'), join(folder, 'tokenizer.json')];
  const lines = all.map((path) => `${fileDigest(path)}  ${basename(path)}\n`).sort();
  return createHash('sha256').update(lines.join('')).digest('hex');
}

serve({
  async open({ folder, options, threads }: OpenEncoderCall): Promise<OpenedEncoder> {
    const path = join(folder, 'config.json');
    const json = (await readJson(path)) as Record<string, unknown>;
    const config = readEncoderConfig(path, json);
    const tokens = await openTextTokens(folder);
    const network = await openNetwork(folder, config, String(json.model_type), threads);
    const settings = await encoderSettings(folder, json, network.tokensMax, options);
    const parts = { network, tokens, settings };
    const dimensions = (await encode(parts, { texts: ['a'], as: 'query' })).length;
    opened = { ...parts, dimensions, digest: digestOf(folder, network.files) };
    return { dimensions, settings, digest: opened.digest };
  },
  async encode(call: EncodeCall) {
    if (opened === undefined) throw new Error('the encoder was not opened');
    const vectors = await encode(opened, call);
    return new Moved(vectors, [vectors.buffer as ArrayBuffer]);
  },
});
