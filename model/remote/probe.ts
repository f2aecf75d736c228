/**
 * What servers can do, found out before they are relied on: for every URL of a pool, since they may have been
 * started differently.
 */

import { draws, hasCode, MillraceError } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Precision } from '../agreement.ts';
import { askServerTokens, type TokenServers } from './askTokens.ts';
import { isLabel } from './publish.ts';
import type { PoolResult } from './serverPool.ts';
import type { ServerFacts, Serving } from './serverWire.ts';

/**
 * Log-probs of the same token may differ by this much between two calls, for the rounding of half precision.
 */
const PROBE_TOLERANCE = 0.05;
/** Highest log-probs that differ by less than this reveal no temperature. */
const FLAT = 0.3;
/** Number of tokens that must match every time if a seed decides them. */
const SEEDED_TOKENS = 16;

/** Contexts for testing servers if none are given: ids that are ordinary tokens in most vocabularies. */
export function ordinaryContexts(vocabSize = 32): readonly Int32Array[] {
  const [low, high] = [Math.floor(vocabSize / 20), Math.max(2, Math.floor(vocabSize / 2))];
  return Array.from({ length: 4 }, (_, context) => {
    const stream = draws('probe', context);
    return Int32Array.from(
      { length: 8 },
      (_, place) => low + stream.integer(place, Math.max(1, high - low)),
    );
  });
}

/** The longest context in tokens that all servers allow. Fails with code `USAGE` if they do not say. */
export async function contextMaxOf({ pool, wire }: TokenServers): Promise<number> {
  const { contextMax } = wire;
  if (contextMax === undefined) {
    throw new MillraceError(
      'USAGE',
      `${wire.name} does not say how long a context may be: set contextMax`,
    );
  }
  const limits = await onEach(pool.urls, async (url, server) => {
    const limit = contextMax.read(await got({ pool, wire }, server, contextMax.path));
    if (limit !== null) return limit;
    throw new MillraceError(
      'USAGE',
      `${url} does not say how long a context may be: set contextMax`,
    );
  });
  return Math.min(...limits);
}

/**
 * Fails with code `MODEL_OTHER` when a server does not serve the model. Gives, by server, the adapters that
 * runs left on it (by their names).
 */
export async function checkModels(
  servers: TokenServers,
  model: string,
): Promise<readonly (readonly string[])[]> {
  const { pool, wire } = servers;
  const { models } = wire;
  if (models === undefined) return pool.urls.map(() => []);
  return onEach(pool.urls, async (url, server) => {
    const names = models.read(await got(servers, server, models.path));
    if (model !== '' && !names.includes(model)) {
      const there = names.filter((name) => !isLabel(name));
      throw new MillraceError(
        'MODEL_OTHER',
        `${url} does not serve ${model}; it serves ${there.join(', ') || 'nothing'}: name that model, or start the server with this one`,
        { context: { url, model, names } },
      );
    }
    return names.filter(isLabel);
  });
}

/** What each server says about itself; null if it does not say. */
export async function factsOf({ pool, wire }: TokenServers): Promise<readonly ServerFacts[]> {
  const { facts } = wire;
  return onEach(pool.urls, async (_, server) => {
    const unknown = { dtype: null, device: null };
    if (facts === undefined) return unknown;
    const result = await pool
      .askServer(server, facts.path, undefined, { triesMax: 1 })
      .catch(() => null);
    return result?.kind === 'answer' ? facts.read(result.value) : unknown;
  });
}

/** The arithmetic of all servers: the worst counts. */
export function precisionOf(facts: readonly ServerFacts[]): Precision {
  const dtypes = facts.map(({ dtype }) => dtype);
  if (dtypes.every((dtype) => dtype === 'float32')) return 'float32';
  return dtypes.some((dtype) => dtype !== null && dtype !== 'float32') ? 'lower' : 'unknown';
}

/**
 * Fails with code `WEIGHTS_REFUSED` if a server would not have all of the weights that replace its own.
 */
export function checkReplaceable(
  { pool, wire }: TokenServers,
  model: { readonly tied: boolean },
  facts: readonly ServerFacts[],
): void {
  for (const [server, of] of facts.entries()) {
    const refused = wire.replacement?.refused?.(model, of) ?? null;
    if (refused === null) continue;
    const url = pool.urls[server];
    throw new MillraceError('WEIGHTS_REFUSED', `${url}: ${refused}`, { context: { url } });
  }
}

/**
 * Fails with code `MODEL_OTHER` if the weights that a server was started with were replaced by a run (its
 * label says so): adapters, or the base model alone, would then rest on the wrong weights. A server that has
 * no labels, or hides them, passes.
 */
export async function checkUnreplaced(servers: TokenServers): Promise<void> {
  const { pool, wire } = servers;
  const label = wire.replacement?.label;
  if (label === undefined) return;
  await onEach(pool.urls, async (url, server) => {
    const result = await pool
      .askServer(server, label.path, undefined, { triesMax: 1 })
      .catch(() => null);
    const said = result?.kind === 'answer' ? label.read(result.value) : null;
    if (said === null || !isLabel(said)) return;
    throw new MillraceError(
      'MODEL_OTHER',
      `${url} has weights '${said}' of a run instead of those it was started with: restart it, or publish all weights (engine.publish=full)`,
      { context: { url, label: said } },
    );
  });
}

/**
 * What is known about the temperature in reported log-probs. `unknown`: the distributions that were tried are
 * flat.
 */
export type Tempered = 'yes' | 'no' | 'unknown';

/**
 * Whether the highest log-probs after several contexts change with the temperature: then they are not those
 * of temperature 1. One server that does so is enough.
 */
export async function temperedOf(
  servers: TokenServers,
  serving: Serving,
  contexts: readonly Int32Array[],
): Promise<Tempered> {
  const found = await onEach(servers.pool.urls, (_, server) =>
    temperedAt(servers, serving, { contexts, server }),
  );
  if (found.includes('yes')) return 'yes';
  return found.includes('unknown') ? 'unknown' : 'no';
}

interface Probed {
  readonly contexts: readonly Int32Array[];
  readonly server: number;
}

async function temperedAt(
  servers: TokenServers,
  serving: Serving,
  { contexts, server }: Probed,
): Promise<Tempered> {
  let verdict: Tempered = 'unknown';
  for (const tokens of contexts) {
    const top = async (temperature: number) => {
      const request = {
        tokens,
        maxTokens: 1,
        temperature,
        stopTokens: [],
        draws: ['probe', 0],
        topLogProbs: 1,
      };
      const made = await askServerTokens(servers, server, request, serving);
      const tops = made.topLogProbs[0] ?? [];
      if (tops.length > 0 && tops.every(Number.isFinite)) return tops;
      throw new MillraceError(
        'MODEL_REPLY',
        'the servers give no top log-probs, which training needs',
      );
    };
    const [atOne, atTwo] = [await top(1), await top(2)];
    const differs = Math.abs(atOne[0]! - atTwo[0]!) > PROBE_TOLERANCE;
    if (differs) return 'yes';
    // Where all tokens are about equally likely, no temperature shows.
    const spread = Math.max(...atOne) - Math.min(...atOne);
    if (spread > FLAT) verdict = 'no';
  }
  return verdict;
}

/** Whether the same request with the same seed gives the same tokens twice, on every server. */
export async function seedsHold(
  servers: TokenServers,
  serving: Serving,
  contexts: readonly Int32Array[],
): Promise<boolean> {
  const request = {
    tokens: contexts[0]!,
    maxTokens: SEEDED_TOKENS,
    temperature: 1,
    stopTokens: [],
    draws: ['probe', 'seed'],
    topLogProbs: 0,
  };
  const equal = await onEach(servers.pool.urls, async (_, server) => {
    const [one, two] = [
      await askServerTokens(servers, server, request, serving),
      await askServerTokens(servers, server, request, serving),
    ];
    return one.tokens.join() === two.tokens.join();
  });
  return equal.every(Boolean);
}

/**
 * Fails with code `MODEL_OTHER` when a server refuses the last token of the policy's vocabulary: its model
 * has a smaller one.
 */
export async function checkVocabulary(servers: TokenServers, serving: Serving): Promise<void> {
  const { vocabSize, pool } = servers;
  if (vocabSize === undefined) return;
  await onEach(pool.urls, async (url, server) => {
    const request = {
      tokens: Int32Array.of(vocabSize - 1),
      maxTokens: 1,
      temperature: 1,
      stopTokens: [],
      draws: ['probe', 'vocabulary'],
      topLogProbs: 0,
    };
    try {
      await askServerTokens(servers, server, request, serving);
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code !== 'MODEL_REFUSED') throw error;
      throw new MillraceError(
        'MODEL_OTHER',
        `${url} refuses token ${vocabSize - 1}, the last of the policy's vocabulary (${error.message}): it serves another model`,
        { context: { url, vocabSize }, cause: error },
      );
    }
  });
}

/** A text, and its tokens by the local tokenizer. */
export interface EncodedText {
  readonly text: string;
  readonly tokens: Int32Array;
}

/**
 * Whether each server encodes the texts as here; a line for one that does not. It is not an error: requests
 * are tokens, so the server's own tokenizer is not used, and some servers read tokenizer.json otherwise than
 * it says. One without such a route is not judged.
 */
export async function compareTokenizers(
  { pool, wire }: TokenServers,
  serving: Serving,
  texts: readonly EncodedText[],
): Promise<readonly string[]> {
  const { tokenize } = wire;
  if (tokenize === undefined) return [];
  const lines = await onEach(pool.urls, async (url, server) => {
    for (const { text, tokens } of texts) {
      const { path, body } = tokenize.request(text, serving);
      const theirs = tokenize.read(
        await answered(() => pool.askServer(server, path, body, { triesMax: 1 })),
      );
      if (theirs === null || theirs.join() === tokens.join()) continue;
      return (
        `warning: ${url} splits a text into ${counted(theirs.length, 'token')} (${theirs.slice(0, 3).join(', ')}, …) that the tokenizer given here splits into ${tokens.length} ` +
        `(${[...tokens.slice(0, 3)].join(', ')}, …): if they are tokenizers of different models, requests and replies are garbled`
      );
    }
    return '';
  });
  return lines.filter((line) => line !== '');
}

/** A server's reply to an optional request; null if it did not carry it out. */
async function answered(ask: () => Promise<PoolResult<unknown>>): Promise<unknown> {
  try {
    const result = await ask();
    return result.kind === 'answer' ? result.value : null;
  } catch (error) {
    if (hasCode(error, 'MODEL_ACCESS')) return null;
    throw error;
  }
}

async function got({ pool }: TokenServers, server: number, path: string): Promise<unknown> {
  const result = await pool.askServer(server, path, undefined, { patient: true });
  if (result.kind === 'answer') return result.value;
  throw new MillraceError(
    'MODEL_DOWN',
    `${pool.urls[server]} does not answer: ${result.reason}. Start the server (docs/servers.md), or correct the URL.`,
  );
}

function onEach<T>(
  urls: readonly string[],
  work: (url: string, server: number) => Promise<T>,
): Promise<T[]> {
  return Promise.all(urls.map(work));
}
