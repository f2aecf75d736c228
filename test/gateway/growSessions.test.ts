import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { listenOn } from '../../base/http/index.ts';
import { sleepClock, systemClock } from '../../base/index.ts';
import { growSessions } from '../../gateway/growSessions.ts';
import {
  type Agent,
  commandAgent,
  functionAgent,
  gatewayServer,
  httpAgent,
  Sessions,
} from '../../gateway/index.ts';
import { replaySessions } from '../../gateway/replaySessions.ts';
import type { PolicyChat } from '../../gateway/sessions/policyChat.ts';
import { aepo } from '../../operators/sampling/aepo.ts';
import { arpo } from '../../operators/sampling/arpo.ts';
import {
  type ScriptedPolicy,
  type ScriptLine,
  scriptedPolicy,
} from '../../testing/scriptedPolicy.ts';
import type { ModelCallRecord, Question, Rollout } from '../../topics/index.ts';
import { calling, hermesChat } from '../support/chatSession.ts';
import { temporaryFolder } from '../support/folder.ts';
import { question } from '../support/records.ts';
import { rolloutOptions } from '../support/rolloutOptions.ts';

const clock = sleepClock(systemClock);
const folder = temporaryFolder();
afterAll(() => folder.remove());
let chat: PolicyChat;
beforeAll(async () => {
  chat = await hermesChat(folder.path);
});

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0)) await each.close();
});

const TOOL = { type: 'function', function: { name: 'add', parameters: { type: 'object' } } };
/** An agent that adds for the policy, as a program or as a function. */
const AGENT = `
const ask = async (base, key, messages) => {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer ' + key };
  const body = JSON.stringify({ model: 'm', messages, tools: [${JSON.stringify(TOOL)}] });
  const reply = await fetch(base + '/chat/completions', { method: 'POST', headers, body });
  if (!reply.ok) throw new Error(await reply.text());
  return (await reply.json()).choices[0].message;
};
const work = async (base, key, content) => {
  const messages = [{ role: 'user', content }];
  for (;;) {
    const said = await ask(base, key, messages);
    if (said.tool_calls === undefined) return said.content;
    const results = said.tool_calls.map(({ id, function: { arguments: given } }) => {
      const { a, b } = JSON.parse(given);
      return { role: 'tool', tool_call_id: id, content: String(a + b) };
    });
    messages.push(said, ...results);
  }
};`;

/** Calls the tool, then says what it said. */
const adding = ({ context, draws }: ScriptLine): string => {
  const sum = /<tool_response>\n(\d+)/.exec(context)?.[1];
  const a = draws.integer(0, 100);
  return sum === undefined ? calling('add', `{"a": ${a}, "b": 1}`) : `It is ${sum}.<|im_end|>`;
};

async function grown(
  agent: Agent,
  {
    script = adding,
    calls = 9,
    atOnce = 4,
    given = options(script),
    asked = question(),
  }: {
    readonly script?: (line: ScriptLine) => string;
    readonly calls?: number;
    readonly atOnce?: number;
    readonly given?: ReturnType<typeof options>;
    readonly asked?: Question;
  } = {},
): Promise<{
  readonly rollouts: readonly Rollout[];
  readonly records: readonly ModelCallRecord[];
  readonly notes: readonly string[];
}> {
  const sessions = new Sessions('policy');
  const failed = (error: unknown): void => {
    throw error;
  };
  const server = await gatewayServer({ sessions, clock, failed });
  closing.push(server, agent);
  const records: ModelCallRecord[] = [];
  const notes: string[] = [];
  const grow = growSessions({
    ...{ agent, sessions, chat, clock, address: server.url },
    limits: { calls, answerTokens: 200 },
    atOnce,
    commit: async (record) => {
      records.push(record);
    },
    past: async () => [],
    report: (line) => notes.push(line),
  });
  const { signal } = new AbortController();
  const { rollouts } = await grow(asked, given, signal);
  return { rollouts, records, notes };
}

const options = (script: (line: ScriptLine) => string) =>
  rolloutOptions(script, {
    engine: scriptedPolicy({ tokenizer: chat.tokenizer, script }),
    responseMax: 4000,
  });

/** The sessions as a log would give them. */
const recordedIn =
  (rollouts: readonly Rollout[], records: readonly ModelCallRecord[]) => async (id: string) => ({
    rollout: rollouts.find((one) => one.id === id)!,
    calls: records.filter(({ sessionId }) => sessionId === id),
  });

const program = (code: string, timeoutMs = 60_000): Agent =>
  commandAgent({ command: `node --input-type=module -e '${code}'`, timeoutMs, clock });

describe('an agent that is a program', () => {
  test('makes a rollout of each run, which a replay makes again without it', async () => {
    const agent = program(
      `${AGENT}\nconsole.log(await work(process.env.OPENAI_BASE_URL, process.env.OPENAI_API_KEY, process.env.MILLRACE_QUESTION));`.replaceAll(
        "'",
        '"',
      ),
    );
    const { rollouts, records } = await grown(agent);
    expect(rollouts.map(({ finish, toolCalls }) => [finish, toolCalls])).toEqual([
      ['answer', 1],
      ['answer', 1],
    ]);
    const [first] = rollouts;
    expect(first!.session).toMatchObject({
      exitCode: 0,
      output: `${/It is \d+/.exec(first!.text)![0]}.\n`,
    });
    expect(first!.text).toMatch(/^<add>.*<\/add><result>\d+<\/result>\nIt is \d+\.<answer>/);
    expect(records).toHaveLength(4);

    const again = replaySessions(recordedIn(rollouts, records), chat);
    const { signal } = new AbortController();
    expect((await again(question(), options(adding), signal)).rollouts).toEqual(rollouts);
  });

  test('fails with what it said last, and its session is worth nothing', async () => {
    const { rollouts } = await grown(
      program('console.error("no such tool"); process.exitCode = 3;'),
    );
    expect(rollouts[0]).toMatchObject({ status: 'failed', finish: 'failed' });
    expect(rollouts[0]!.reason).toBe(
      'the agent made no model call (the agent ended with code 3: no such tool): does it read OPENAI_BASE_URL or ANTHROPIC_BASE_URL?',
    );
  });

  test('that posts no reward for a question without answers makes a failed rollout', async () => {
    const agent = program(
      `${AGENT}\nawait work(process.env.OPENAI_BASE_URL, process.env.OPENAI_API_KEY, "");`.replaceAll(
        "'",
        '"',
      ),
    );
    const { rollouts } = await grown(agent, { asked: { ...question(), answers: [] } });
    expect(rollouts[0]).toMatchObject({
      status: 'failed',
      reason: 'the question has no answers, and the agent posted no reward',
    });
  });

  test('that hangs is ended, with all that it started', async () => {
    const { rollouts } = await grown(program('setInterval(() => undefined, 1000);', 300));
    expect(rollouts[0]!.reason).toMatch(/longer than 0 s \(agent.timeoutMs\)/);
  });
});

describe('an agent that is a function', () => {
  const work = new Function(`${AGENT}; return work;`)() as (
    base: string,
    key: string,
    question: string,
  ) => Promise<string>;

  test('gives the answer, and may say what it is worth', async () => {
    const { rollouts } = await grown(
      functionAgent(async ({ baseUrl, key, question: asked, reward }) => {
        const said = await work(`${baseUrl}/v1`, key, asked.question);
        await reward(0.5, 'half right');
        return said.replace(/\D/g, '');
      }),
    );
    expect(rollouts[0]!.session).toMatchObject({ reward: 0.5, rewardReason: 'half right' });
    expect(rollouts[0]!.text).toMatch(/<answer>\\boxed\{\d+\}<\/answer>$/);
  });

  test('whose policy never ends counts, as one that went on too long', async () => {
    const { rollouts, records } = await grown(
      functionAgent(({ baseUrl, key, question: asked }) =>
        work(`${baseUrl}/v1`, key, asked.question),
      ),
      { script: () => calling('add', '{"a": 1, "b": 1}'), calls: 3 },
    );
    expect(rollouts.map(({ status, finish }) => [status, finish])).toEqual([
      ['done', 'callLimit'],
      ['done', 'callLimit'],
    ]);
    expect(records).toHaveLength(6);
  });

  test('that changes its past is named once, with what it changes', async () => {
    const { rollouts, notes } = await grown(
      functionAgent(async ({ baseUrl, key, question: asked }) => {
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
        const messages: object[] = [{ role: 'user', content: asked.question }];
        for (let turn = 0; turn < 12; turn++) {
          const body = JSON.stringify({ model: 'm', messages });
          const url = `${baseUrl}/v1/chat/completions`;
          const reply = await fetch(url, { method: 'POST', headers, body });
          const { choices } = (await reply.json()) as {
            choices: { message: { content: string } }[];
          };
          const { content } = choices[0]!.message;
          messages.push(
            { role: 'assistant', content: `${content}!` },
            { role: 'user', content: 'And?' },
          );
        }
        return undefined;
      }),
      { script: () => 'Yes.<|im_end|>', calls: 20 },
    );
    expect(rollouts[0]!.session!.contexts).toHaveLength(11);
    expect(notes).toEqual([
      'the agent rewrites earlier messages, so 92 % of its model calls are trained on separately, not as one conversation: messages[1].content is "Yes.!", was "Yes." (docs/agents.md)',
    ]);
  });

  test('is forked where the policy becomes less sure, without sampling the beginning again', async () => {
    const given = {
      ...options(adding),
      samples: () => 4,
      branching: () =>
        arpo({ initialRollouts: 2, beamSize: 2, branchProbability: 1, entropyWeight: 0 }),
    };
    const agent = functionAgent(({ baseUrl, key, question: asked }) =>
      work(`${baseUrl}/v1`, key, asked.question),
    );
    const { rollouts, records } = await grown(agent, { given });
    const { requests } = given.engine as ScriptedPolicy;
    expect([records.length, requests.length]).toEqual([8, 6]);
    expect(rollouts.map(({ parent }) => parent?.index ?? null)).toEqual([null, null, 0, 1]);
    for (const { parent, tokens } of rollouts.slice(2)) {
      const from = rollouts[parent!.index]!.tokens.subarray(0, parent!.offset);
      expect([...tokens.subarray(0, parent!.offset)]).toEqual([...from]);
    }
    expect(records.every(({ entropy }) => entropy !== null)).toBe(true);
    // A replay samples what a fork shares as its rollout did.
    const again = replaySessions(recordedIn(rollouts, records), chat);
    const { signal } = new AbortController();
    expect(
      (await again(question(), { ...options(adding), samples: () => 4 }, signal)).rollouts,
    ).toEqual(rollouts);
  });

  test('runs once before the others where AEPO splits the budget by what it shows', async () => {
    const given = {
      ...options(adding),
      samples: () => 4,
      branching: () =>
        aepo({ initialRollouts: 4, beamSize: 2, branchProbability: 0, entropyWeight: 0 }),
    };
    const running: number[] = [];
    let now = 0;
    const agent = functionAgent(async ({ baseUrl, key, question: asked }) => {
      running.push(++now);
      const answer = await work(`${baseUrl}/v1`, key, asked.question);
      now -= 1;
      return answer;
    });
    const { rollouts, records } = await grown(agent, { given });
    // As sure of the tool as of the question: floor(4 / 2) + 1 roots, the first of them alone.
    expect(rollouts.map(({ parent }) => parent?.index ?? null)).toEqual([null, null, null, 0]);
    expect(running).toEqual([1, 1, 2, 1]);
    const again = replaySessions(recordedIn(rollouts, records), chat);
    const { signal } = new AbortController();
    const replayed = await again(question(), { ...options(adding), samples: () => 4 }, signal);
    expect(replayed.rollouts).toEqual(rollouts);
  });

  test('runs no more often at once than it may', async () => {
    let running = 0;
    const seen: number[] = [];
    const agent = functionAgent(async ({ baseUrl, key, question: asked }) => {
      seen.push(++running);
      await work(`${baseUrl}/v1`, key, asked.question);
      running -= 1;
      return '1';
    });
    await grown(agent, { atOnce: 1 });
    expect(seen).toEqual([1, 1]);
  });

  test('cannot speak for a session other than its own', async () => {
    const keys: string[] = [];
    const said: number[] = [];
    await grown(
      functionAgent(async ({ baseUrl, key, question: asked }) => {
        keys.push(key);
        await work(`${baseUrl}/v1`, key, asked.question);
        const headers = {
          authorization: `Bearer ${key}x`,
          'content-type': 'application/json',
        };
        const reward = `${baseUrl.replace(/\/s\/.*/, '')}/v1/reward`;
        const reply = await fetch(reward, { method: 'POST', headers, body: '{"value": 1}' });
        said.push(reply.status);
        return '1';
      }),
    );
    expect(new Set(keys).size).toBe(2);
    expect(said.every((status) => status >= 400)).toBe(true);
  });
});

test('an agent behind an address answers 202, and is done when it has posted its reward', async () => {
  const work = new Function(`${AGENT}; return work;`)() as (
    ...of: readonly string[]
  ) => Promise<string>;
  const service = await listenOn(
    { host: '127.0.0.1', port: 0, connectionsMax: 9 },
    async (from, to) => {
      const pieces: Buffer[] = [];
      for await (const piece of from) pieces.push(piece as Buffer);
      const asked = JSON.parse(Buffer.concat(pieces).toString());
      to.writeHead(202).end();
      await work(asked.base_url, asked.api_key, asked.question.question);
      const headers = {
        authorization: `Bearer ${asked.api_key}`,
        'content-type': 'application/json',
      };
      const body = JSON.stringify({ value: 0.75, reason: 'judged' });
      await fetch(asked.reward_url, { method: 'POST', headers, body });
    },
  );
  closing.push(service);
  const { rollouts } = await grown(httpAgent({ url: service.url, timeoutMs: 60_000, clock }));
  expect(rollouts.map(({ status, session }) => [status, session?.reward])).toEqual([
    ['done', 0.75],
    ['done', 0.75],
  ]);
});
