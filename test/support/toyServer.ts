/**
 * A server of vLLM's shape whose weights are a number: what it says of a token is a formula of that number
 * and of the token, so that a test knows what is right. It does what a test tells it to do wrong.
 */
import type { ServerResponse } from 'node:http';
import { answer, type ScriptedServer, type Seen, scriptedServer } from './scriptedServer.ts';

/** Log-prob of a token that comes after another under weights `version`. */
export function toyLogProb(version: number, token: number, before: number): number {
  return -1 - (((version + 1) * 37 + token * 13 + before * 7) % 40) / 10;
}

export const toyScores = (version: number, tokens: ArrayLike<number>): Float32Array =>
  Float32Array.from(tokens, (token, place) =>
    place === 0 ? 0 : toyLogProb(version, token, tokens[place - 1]!),
  );

/** May be changed while it runs. */
export interface ToyFaults {
  /** It answers with these weights, whatever was requested. */
  stuckAt?: number;
  /** Log-probs are of the temperature. */
  tempered?: boolean;
  /** All tokens are as likely, under weights below this version. */
  flatBelow?: number;
  /** Seeds count for nothing. */
  seedless?: boolean;
  /** What it does to a request before anything else; undefined = what it should. */
  before?: (seen: Seen, response: ServerResponse) => boolean;
}

export interface ToyServer extends ScriptedServer {
  readonly faults: ToyFaults;
  /** Names of adapters it holds. */
  adapters(): string[];
  /** Forgets everything, as a server that was started again. */
  restart(): void;
  bodies(path: string): Record<string, unknown>[];
}

const VERSION = /policy-v(\d+)/;

export async function toyServer(
  given: { readonly faults?: ToyFaults; readonly left?: readonly string[] } = {},
): Promise<ToyServer> {
  const faults: ToyFaults = { ...given.faults };
  const adapters = new Set<string>(given.left);
  let base = 0;
  let label = 'default';
  let drawn = 0;

  const versionOf = (model: string): number | null => {
    if (model === 'base') return base;
    return adapters.has(model) ? Number(VERSION.exec(model)![1]) : null;
  };

  const complete = (body: Record<string, unknown>) => {
    const named = versionOf(String(body.model));
    if (named === null) return null;
    const version = faults.stuckAt ?? named;
    const prompt = body.prompt as number[];
    if (body.prompt_logprobs !== undefined) {
      const scores = toyScores(version, prompt);
      const given = prompt.map((token, place) =>
        place === 0 ? null : { [String(token)]: { logprob: scores[place] } },
      );
      return { choices: [{ token_ids: [1], prompt_logprobs: given }] };
    }
    const seed = faults.seedless ? drawn++ : Number(body.seed);
    const tokens = Array.from({ length: Number(body.max_tokens) }, (_, i) => (seed + i) % 20);
    const temperature = Number(body.temperature) || 1;
    const said = (logProb: number) => (faults.tempered ? logProb / temperature : logProb);
    const flat = version < (faults.flatBelow ?? 0);
    const tops = tokens.map(() =>
      Object.fromEntries(
        Array.from({ length: 10 }, (_, rank) => [`token_id:${rank}`, flat ? -3 : said(-1 - rank)]),
      ),
    );
    return {
      choices: [
        {
          token_ids: tokens,
          finish_reason: 'length',
          logprobs: {
            token_logprobs: tokens.map((token) => said(toyLogProb(version, token, 0))),
            top_logprobs: Number(body.logprobs) > 0 ? tops : null,
          },
        },
      ],
    };
  };

  const server = await scriptedServer(async (seen, response) => {
    if (faults.before?.(seen, response)) return;
    const say = (value: unknown, status = 200) => answer(value, status)(seen, response);
    const body = seen.body ?? {};
    switch (seen.path) {
      case '/v1/models':
        return say({ data: ['base', ...adapters].map((id) => ({ id, max_model_len: 100 })) });
      case '/v1/completions': {
        if ((body.prompt as number[]).some((token) => token >= 100))
          return say({ error: { message: 'Token id is out of vocabulary' } }, 400);
        const made = complete(body);
        return made === null ? say({ error: { message: 'does not exist' } }, 404) : say(made);
      }
      case '/v1/load_lora_adapter':
        adapters.add(String(body.lora_name));
        return say('Success');
      case '/v1/unload_lora_adapter':
        adapters.delete(String(body.lora_name));
        return say('Success');
      case '/collective_rpc': {
        const { weights_path } = body.kwargs as { weights_path: string };
        base = Number(VERSION.exec(weights_path)![1]);
        return say({ results: [null] });
      }
      case '/reset_prefix_cache':
        return say({ success: true });
      case '/update_weight_version':
        label = String(body.new_version);
        return say({ success: true });
      case '/weight_info':
        return say({ weight_version: label });
      default:
        return say({ detail: 'Not Found' }, 404);
    }
  });
  return Object.assign(server, {
    faults,
    adapters: () => [...adapters],
    restart() {
      adapters.clear();
      base = 0;
      label = 'default';
    },
    bodies: (path: string) =>
      server.seen.filter((each) => each.path === path).map(({ body }) => body ?? {}),
  });
}
