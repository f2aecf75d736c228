/**
 * Groups that `growGroup` grows by a script, in rounds: the engine and the tools answer no one until no group
 * goes on by itself, then all who are served in that round. So the product's own state machine is checked,
 * and a script that counts requests (the second one for the same context, say) knows which is which.
 *
 * A token is one character, as in `scripted.ts`: closing tags are stop texts. Results enter as they are, as
 * in the published loop.
 */
import type { Generation, PolicyEngine, Tokenizer } from '../../../model/engine.ts';
import type { CallTool } from '../../../operators/callTools.ts';
import type { Dialect } from '../../../operators/dialect/dialect.ts';
import { resultTokens } from '../../../operators/dialect/resultBlock.ts';
import { tagsDialect } from '../../../operators/dialect/tagsDialect.ts';
import type { PolicyGate } from '../../../operators/gate.ts';
import { type Group, growGroup } from '../../../operators/rollout/growGroup.ts';
import type { RolloutOptions } from '../../../operators/rollout.ts';
import { toolbox } from '../../../operators/tools/callTool.ts';
import type { Tool } from '../../../operators/tools/tool.ts';
import { question } from '../../support/records.ts';
import { decode, END_TOKEN, encode, firstLogProbs, type Generated } from './scripted.ts';

/** Whose request it is: of a rollout of a prompt's group, or of what AEPO looks at before. */
export interface Origin {
  readonly prompt: number;
  readonly of: 'rollout' | 'question' | 'monitor';
  /** Its number in the group. */
  readonly index: number;
}

export interface Asked extends Origin {
  /** Prompt and response so far. */
  readonly context: readonly number[];
  readonly promptLength: number;
  /** Most tokens that `growGroup` takes. */
  readonly room: number;
}

export interface Called extends Origin {
  readonly tool: string;
  readonly input: string;
}

export interface GroupsScript {
  readonly prompts: readonly (readonly number[])[];
  readonly tags: readonly string[];
  readonly attempt: (call: Called, attempt: number) => string | null;
  readonly attemptsMax: number;
  /** An empty answer is a failure, and tried again. */
  readonly retryEmpty: boolean;
  readonly vocabSize: number;
  readonly samples: number;
  readonly responseLength: number;
  readonly callLimit: number;
  readonly toolLimit?: RolloutOptions['toolLimit'];
  readonly branching: (prompt: number) => ReturnType<RolloutOptions['branching']>;
  /** What opens a result's block where it is not ours. */
  readonly resultOpens?: string;
  /** Those of all who wait that are served next, in order. */
  readonly served: (waiting: readonly Asked[]) => readonly Asked[];
  /** What each of them generates. */
  readonly generate: (served: readonly Asked[]) => readonly Generated[];
  /** Those of all open calls that are answered then, in order. Each time one is served or answered. */
  readonly answered: (calls: readonly Called[]) => readonly Called[];
}

/**
 * A script reaches a point where this repository departs from the published loop on purpose; the message says
 * where.
 */
export class Departure extends Error {
  override readonly name = 'Departure';
}

/** Grows a group for each prompt. Throws what the script throws. */
export async function grownGroups(script: GroupsScript): Promise<Group[]> {
  const asked = new Map<Asked, (made: Generated) => void>();
  const called = new Map<Called, () => void>();
  const options = optionsOf(script, asked, called);
  const { signal } = new AbortController();
  const groups = script.prompts.map((_, i) =>
    growGroup(question({ id: String(i), question: String(i) }), options, signal),
  );
  for (await idle(); asked.size + called.size > 0; await idle()) {
    const served = script.served([...asked.keys()]);
    const made = script.generate(served);
    for (const [i, one] of served.entries()) take(asked, one)(made[i]!);
    await idle();
    for (const call of script.answered([...called.keys()])) {
      take(called, call)();
      await idle();
    }
  }
  return Promise.all(groups);
}

/** When nothing goes on but what waits for the script. */
function idle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function take<Key, Value>(from: Map<Key, Value>, key: Key): Value {
  const value = from.get(key)!;
  from.delete(key);
  return value;
}

function optionsOf(
  script: GroupsScript,
  asked: Map<Asked, (made: Generated) => void>,
  called: Map<Called, () => void>,
): RolloutOptions {
  return {
    engine: engineOf(script, asked),
    dialect: dialectOf(script),
    tools: toolsOf(script, called),
    gate: open,
    seed: 0,
    samples: () => script.samples,
    temperature: 1,
    responseMax: script.responseLength,
    callLimit: script.callLimit,
    toolLimit: script.toolLimit,
    branching: ({ id }) => script.branching(Number(id)),
    concurrency: script.prompts.length,
    clock: { now: () => 0 },
  };
}

function dialectOf(script: GroupsScript): Dialect {
  const { tags: tools, prompts } = script;
  const tokenizer = tokenizerOf(script);
  const prompt = (text: string) => Int32Array.from(prompts[Number(text)]!);
  return {
    ...tagsDialect({ tokenizer, tools, prompt }),
    results: (outputs) =>
      Int32Array.from(outputs.flatMap((output) => [...resultTokens(tokenizer, output)])),
  };
}

const open: PolicyGate = {
  version: 0,
  inflight: 0,
  withFirstVersion: (asked) => asked,
  admission: () => ({ admit: async () => () => undefined }),
  close: async () => undefined,
};

function engineOf(
  { prompts, tags }: GroupsScript,
  asked: Map<Asked, (made: Generated) => void>,
): PolicyEngine {
  return {
    contextMax: Number.POSITIVE_INFINITY,
    async generate({ tokens, draws, maxTokens: room, topLogProbs }) {
      // [seed, question, phase, round, index], with the name of what is looked at before the index.
      const prompt = Number(draws[1]);
      const of = draws.length === 5 ? 'rollout' : (draws[4] as Origin['of']);
      const context = Array.from(tokens);
      const promptLength = prompts[prompt]!.length;
      const one: Asked = { prompt, of, index: Number(draws.at(-1)), context, promptLength, room };
      const made = await new Promise<Generated>((resolve) => asked.set(one, resolve));
      return generation(made, topLogProbs, tags);
    },
    load: async () => undefined,
    stats: () => ({ generatedTokens: 0, prefillTokens: 0, busyMs: 0 }),
    close: async () => undefined,
  };
}

function generation(made: Generated, topLogProbs: number, tags: readonly string[]): Generation {
  const tokens = Int32Array.from(made.tokens);
  const closed = tags.find((tag) => made.stop === `</${tag}>`);
  return {
    tokens,
    logProbs: new Float32Array(tokens.length),
    finish: made.finish,
    ...(closed === undefined ? {} : { stopText: `</${closed}>` }),
    topLogProbs: firstLogProbs(made, topLogProbs),
    version: 0,
  };
}

/** It takes an end mark in a result for the end, as the published tokenisers do. */
function tokenizerOf({ vocabSize, resultOpens }: GroupsScript): Tokenizer {
  return {
    vocabSize,
    endToken: END_TOKEN,
    encode: (text) =>
      Int32Array.from(encode(text === ' <result>\n' ? (resultOpens ?? text) : text)),
    decode: (tokens) => decode(Array.from(tokens)),
    id: (token) => {
      throw new Error(`${token} is no token of its own`);
    },
  };
}

/** The product's toolbox around scripted tools; a call waits until it is answered. */
function toolsOf(script: GroupsScript, called: Map<Called, () => void>): CallTool {
  const { tags, attemptsMax, retryEmpty } = script;
  return {
    tags,
    async call(tool, input, signal, origin) {
      const [prompt, , name] = origin!.rolloutId.split('/');
      const of = name === 'monitor' ? 'monitor' : 'rollout';
      const index = Number(origin!.rolloutId.split('/').at(-1));
      const call: Called = { prompt: Number(prompt), of, index, tool, input };
      await new Promise<void>((resolve) => called.set(call, resolve));
      const limits = { clock: { now: () => 0 }, attemptsMax, retryEmpty };
      const box = toolbox([scriptedTool(script, call)], limits);
      return box.call(tool, input, signal);
    },
    close: async () => undefined,
  };
}

/** What fails says nothing: the published executor takes both alike. */
function scriptedTool({ attempt }: GroupsScript, call: Called): Tool {
  let attempts = 0;
  return {
    name: call.tool,
    about: '',
    concurrencyMax: 1,
    pure: false,
    run: async () => ({ output: attempt(call, attempts++) ?? '', ok: true }),
    close: async () => undefined,
  };
}
