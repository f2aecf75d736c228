/** `millrace model init`: a policy with random weights, of a named size or with given dimensions. */
import { resolve } from 'node:path';
import { inMemory, readDecoderConfig, readJson } from '../../model/hf/index.ts';
import { type DecoderConfig, initialise, parameterShapes } from '../../model/index.ts';
import { loadTokenizer } from '../../model/tokenizers/index.ts';
import { usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { SIZES, withFeatures } from './sizes.ts';
import { dtypeNamed, writePolicy } from './writePolicy.ts';

export interface InitOptions {
  readonly out: string;
  readonly size: string;
  readonly config?: string;
  readonly tokenizer?: string;
  readonly architecture?: DecoderConfig['architecture'];
  readonly vocab?: number;
  readonly hidden?: number;
  readonly layers?: number;
  readonly heads?: number;
  readonly kvHeads?: number;
  readonly headDim?: number;
  readonly intermediate?: number;
  readonly positions?: number;
  readonly ropeTheta?: number;
  /** `--untied`. */
  readonly untied?: boolean;
  readonly seed: number;
  readonly dtype: string;
  readonly json?: boolean;
}

export async function initCommand(options: InitOptions, io: Io): Promise<number> {
  const at = (path: string) => resolve(io.cwd, path);
  const tokenizer = options.tokenizer === undefined ? undefined : at(options.tokenizer);
  const config = await configOf(options, at, tokenizer);
  const destination = {
    path: at(options.out),
    json: options.json === true,
    dtype: dtypeNamed(options.dtype),
    ...(tokenizer === undefined ? {} : { tokenizer }),
  };
  return writePolicy(config, inMemory(initialise(config, options.seed)), destination, io);
}

async function configOf(
  options: InitOptions,
  at: (path: string) => string,
  tokenizer: string | undefined,
): Promise<DecoderConfig> {
  const tokens = tokenizer === undefined ? undefined : (await loadTokenizer(tokenizer)).vocabSize;
  const config =
    options.config === undefined ? built(options, tokens) : await fromFile(at(options.config));
  if (tokens !== undefined && tokens > config.vocabSize)
    throw usageError(
      `the tokenizer has ${tokens} tokens but the policy only ${config.vocabSize}: use --vocab ${tokens} or more`,
    );
  try {
    parameterShapes(config);
  } catch (error) {
    throw usageError(`invalid shape: ${(error as Error).message}`);
  }
  return config;
}

async function fromFile(path: string): Promise<DecoderConfig> {
  return readDecoderConfig(path, await readJson(path));
}

/** The named size, with the given parts replaced. */
function built(options: InitOptions, tokens: number | undefined): DecoderConfig {
  const size = SIZES[options.size]!;
  const given = {
    architecture: options.architecture,
    vocabSize: options.vocab ?? tokens,
    hiddenSize: options.hidden,
    layers: options.layers,
    heads: options.heads,
    kvHeads: options.kvHeads,
    headDim: options.headDim,
    intermediateSize: options.intermediate,
    maxPositions: options.positions,
    ropeTheta: options.ropeTheta,
    tiedEmbeddings: options.untied === true ? false : undefined,
  };
  const changes = Object.entries(given).filter(([, value]) => value !== undefined);
  return withFeatures({ ...size, ...(Object.fromEntries(changes) as Partial<typeof size>) });
}
