/**
 * The settings of an encoder's folder, as sentence-transformers keeps them: how token vectors are pooled,
 * which prefixes texts get, and where they are cut.
 *
 * Folders of E5 and BGE do not record the prefixes of their training, without which E5 finds much less. They
 * are recognised by the folder's name, or by the one in `config.json`.
 */
import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { MillraceError } from '../../base/index.ts';
import type { EncoderOptions, EncoderSettings } from './encoder.ts';

/** Where to cut texts if nothing else says. */
const TOKENS_MAX = 512;

const pooling = z.looseObject({
  pooling_mode: z.string().nullish(),
  pooling_mode_cls_token: z.boolean().nullish(),
  pooling_mode_mean_tokens: z.boolean().nullish(),
});
const sentence = z.looseObject({ max_seq_length: z.number().int().positive().nullish() });
const prompts = z.looseObject({ prompts: z.record(z.string(), z.string()).nullish() });

/** By name: the authors' prefixes and pooling. */
const KNOWN: readonly {
  readonly name: RegExp;
  readonly settings: Pick<EncoderSettings, 'queryPrefix' | 'passagePrefix' | 'pooling'>;
}[] = [
  {
    name: /(^|[-_/])e5[-_]/i,
    settings: { queryPrefix: 'query: ', passagePrefix: 'passage: ', pooling: 'mean' },
  },
  {
    name: /(^|[-_/])bge-(small|base|large)-en/i,
    settings: {
      queryPrefix: 'Represent this sentence for searching relevant passages: ',
      passagePrefix: '',
      pooling: 'cls',
    },
  },
  { name: /(^|[-_/])bge-/i, settings: { queryPrefix: '', passagePrefix: '', pooling: 'cls' } },
];

/**
 * The given settings, otherwise the folder's, otherwise those known for its name. `tokensMax` = the network's
 * limit.
 */
export async function encoderSettings(
  folder: string,
  config: Readonly<Record<string, unknown>>,
  tokensMax: number | null,
  given: EncoderOptions,
): Promise<EncoderSettings> {
  const pooled = await optional(folder, '1_Pooling/config.json', pooling);
  const cut = await optional(folder, 'sentence_bert_config.json', sentence);
  const said = (await optional(folder, 'config_sentence_transformers.json', prompts))?.prompts;
  const names = [basename(resolve(folder)), String(config._name_or_path ?? '')];
  const known = KNOWN.find(({ name }) => names.some((one) => name.test(one)))?.settings;
  const limit = tokensMax ?? TOKENS_MAX;
  const wanted = given.tokensMax ?? cut?.max_seq_length ?? TOKENS_MAX;
  return {
    pooling: given.pooling ?? poolingOf(folder, pooled) ?? known?.pooling ?? 'mean',
    queryPrefix: given.queryPrefix ?? said?.query ?? known?.queryPrefix ?? '',
    passagePrefix:
      given.passagePrefix ?? said?.passage ?? said?.document ?? known?.passagePrefix ?? '',
    normalised: given.normalised ?? true,
    tokensMax: Math.min(wanted, limit),
  };
}

function poolingOf(
  folder: string,
  file: z.infer<typeof pooling> | null,
): EncoderSettings['pooling'] | null {
  if (file === null) return null;
  const modes = Object.entries(file).filter(
    ([name, value]) => name.startsWith('pooling_mode_') && value === true,
  );
  const [mode = file.pooling_mode ?? null] = modes.map(([name]) => name.slice(13));
  if (modes.length < 2 && (mode === 'cls_token' || mode === 'cls')) return 'cls';
  if (modes.length < 2 && (mode === 'mean_tokens' || mode === 'mean')) return 'mean';
  const path = join(folder, '1_Pooling/config.json');
  throw new MillraceError(
    'MODEL_CONFIG',
    `${path}: only pooling by mean or by the first token (cls) is implemented; name one with --pooling to try it anyway`,
    { context: { file: path } },
  );
}

async function optional<Shape extends z.ZodType>(
  folder: string,
  name: string,
  shape: Shape,
): Promise<z.infer<Shape> | null> {
  const path = join(folder, name);
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    return shape.parse(JSON.parse(text));
  } catch (cause) {
    throw new MillraceError('MODEL_CONFIG', `${path} cannot be read: copy the folder again`, {
      context: { file: path },
      cause,
    });
  }
}
