/**
 * What holds of every agent before a gateway: it gets to the end of a scripted conversation, what it sends
 * back are the turns that it was given, it sends a call again byte for byte, and it stops when its session
 * has ended.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect } from '@jest/globals';
import { firstDifferenceOf } from '../../gateway/canonical.ts';
import {
  type AssistantMessage,
  GatewayRefusal,
  type ModelCall,
} from '../../gateway/conversation.ts';
import { ScriptedSessions, said } from '../support/scriptedSessions.ts';
import { type Agents, type AgentTest, type Answer, hurriedGateway } from './support.ts';

/** What is known of an agent. */
export interface Traits {
  /** The keys of the API's client, not the path, name the session. */
  readonly byKey?: boolean;
  /** Turns come back as something else: how the conversation first differs. */
  readonly differs?: string;
  /** The same for streams alone. */
  readonly differsInStream?: string;
  /** It says the texts of all turns at the end. */
  readonly joins?: boolean;
  /** It ends by calling a function with its answer. */
  readonly endsByCall?: boolean;
  /** It takes a stream that breaks for one that has ended. */
  readonly hidesErrors?: boolean;
}

const call = (id: string, text: string, name = 'get_weather') => ({ id, name, arguments: text });
/** Texts that are written in a way no program would. */
const SCRIPT: readonly AssistantMessage[] = [
  said(
    '\n Let me look.  ',
    'I have a tool.',
    call('functions.get_weather:0', '{"city": "Z\\u00fcrich",  "n":1.0}'),
  ),
  said(
    '',
    'Now two.',
    call('call_b', '{ "n": 2.50, "city":"Zürich"}'),
    call('call_c', '{"city":"Bern","n":3}'),
  ),
  said(' It is sunny.\n', 'Done.'),
];
const END = said('', null, call('call_d', '{"answer": " It is sunny.\\n"}', 'final_answer'));
/** Each result as the tools give it. */
const RESULTS = ['Zürich in 1 days: 21 °C', 'Zürich in 2.5 days: 21 °C', 'Bern in 3 days: 21 °C'];

export interface Ran {
  readonly answer: Answer;
  readonly calls: readonly ModelCall[];
  readonly digests: readonly string[];
}

/** Runs one agent in a session of its own; `before` is asked at each request. */
export async function ran(
  agents: Agents,
  agent: string,
  stream: boolean,
  { byKey = false, endsByCall = false }: Traits,
  before: (request: number) => void = () => undefined,
): Promise<Ran> {
  const failures: unknown[] = [];
  const sessions = new ScriptedSessions();
  const script = endsByCall ? [...SCRIPT.slice(0, -1), END] : SCRIPT;
  const session = sessions.open('a-session', script, {
    async before(request) {
      // Long enough for keep-alives.
      if (stream) await pause(15);
      before(request);
    },
  });
  const server = await hurriedGateway(sessions, (error) => failures.push(error));
  try {
    const url = byKey ? server.url : `${server.url}/s/a-session`;
    const answer = await agents.run(agent, url, byKey ? 'a-session' : 'unused', stream);
    expect(failures).toEqual([]);
    return { answer, calls: session.calls, digests: session.digests };
  } finally {
    await server.close();
  }
}

/** Tests of the agents of one file. */
export function agentLaws(
  test: AgentTest,
  name: string,
  file: string,
  traits: Readonly<Record<string, Traits>>,
): void {
  let agents: Agents | undefined;
  afterAll(() => agents?.end());
  for (const [agent, known] of Object.entries(traits)) {
    test(`${name}: ${agent}`, async (start) => {
      agents ??= start(file);
      for (const stream of [false, true]) {
        const whole = await ran(agents, agent, stream, known);
        const differs = (stream ? known.differsInStream : undefined) ?? known.differs ?? '';
        goesToTheEnd(whole, known, differs);
        if (!stream) await triesAgain(agents, agent, known, whole);
        await stops(agents, agent, stream, known, whole);
      }
    });
  }
}

function goesToTheEnd({ answer, calls, digests }: Ran, { joins }: Traits, differs: string): void {
  const all = SCRIPT.map(({ content }) => content).join('');
  expect(answer).toEqual({ said: joins === true ? all : SCRIPT.at(-1)!.content });
  expect(digests).toHaveLength(SCRIPT.length);
  const { messages, tools } = calls.at(-1)!;
  expect(tools.map((one) => one.name)).toContain('get_weather');
  expect(Object.keys((tools[0]!.parameters as { properties: object }).properties)).toContain(
    'city',
  );
  const turns = messages.filter(({ role }) => role === 'assistant');
  const found = firstDifferenceOf(SCRIPT.slice(0, -1), turns);
  if (differs !== '') {
    expect(found).toContain(differs);
    return;
  }
  expect(found).toBeNull();
  const results = messages.filter(({ role }) => role === 'tool');
  expect(results.map(({ content }) => content)).toEqual(RESULTS);
  expect(messages.map(({ role }) => role)).toEqual([
    ...['system', 'user', 'assistant', 'tool', 'assistant', 'tool', 'tool'],
  ]);
}

/** A request breaks; a retry has the same bytes, and the others those of another run. */
async function triesAgain(agents: Agents, agent: string, known: Traits, whole: Ran) {
  const { answer, digests } = await ran(agents, agent, false, known, (request) => {
    if (request === 1) throw new GatewayRefusal('failed', 'once');
  });
  expect(answer.error).toBeUndefined();
  const [first, second, third] = whole.digests;
  expect(digests).toEqual([first, second, second, third]);
}

/** The session has ended: the agent fails after one request. */
async function stops(agents: Agents, agent: string, stream: boolean, known: Traits, whole: Ran) {
  const { answer, digests } = await ran(agents, agent, stream, known, (request) => {
    if (request >= 1) throw new GatewayRefusal('ended', 'the session has ended');
  });
  expect(digests).toEqual(whole.digests.slice(0, 2));
  if (known.hidesErrors === true && stream) return;
  expect(answer.error).toContain('the session has ended');
}
