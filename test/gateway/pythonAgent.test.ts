/** The Python side of `examples/environments`, as a program and as a service, at a real gateway. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sleepClock, systemClock } from '../../base/index.ts';
import { type Agent, commandAgent, httpAgent } from '../../gateway/index.ts';
import type { PolicyChat } from '../../gateway/sessions/policyChat.ts';
import { agentRollout } from '../support/agentRollout.ts';
import { hermesChat } from '../support/chatSession.ts';
import { temporaryFolder } from '../support/folder.ts';

const examples = fileURLToPath(new URL('../../examples/environments', import.meta.url));
const hasPython = spawnSync('python3', ['--version']).status === 0;
const withPython = hasPython ? test : test.skip;
const why = hasPython ? '' : ' (skipped: no python3)';

const clock = sleepClock(systemClock);
const folder = temporaryFolder();
afterAll(() => folder.remove());
let chat: PolicyChat;
beforeAll(async () => {
  chat = await hermesChat(folder.path);
});

const WORK = `
def work(session):
    said = session.chat([{"role": "user", "content": session.question_id}])
    if "bad" in said: raise ValueError("no answer")
    session.reward(0.75, "nearly")
    return said`;

const rolloutOf = (agent: Agent, said = 'Forty-two.<|im_end|>') =>
  agentRollout({ agent, chat, script: () => said });

const rewarded = { reward: 0.75, rewardReason: 'nearly' };

withPython(`a program finds its session in its environment${why}`, async () => {
  const program = `import sys; sys.path.insert(0, "${examples}")
from millrace_agent import Session
${WORK}
print(work(Session.here()))`;
  const command = `python3 -c '${program}'`;
  const first = await rolloutOf(commandAgent({ command, timeoutMs: 60_000, clock }));
  expect(first).toMatchObject({ status: 'done', session: rewarded });
  expect(first.session!.output).toBe('Forty-two.\n');
});

withPython(`a service gets it with each request, and an exception fails it${why}`, async () => {
  const program = `from millrace_agent import serve\n${WORK}\nserve(0, work)`;
  const service = spawn('python3', ['-c', program], {
    env: { PATH: process.env.PATH, PYTHONPATH: examples },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const [url] = (await once(createInterface({ input: service.stdout }), 'line')) as [string];
    const agent = () => httpAgent({ url, timeoutMs: 60_000, clock });
    const first = await rolloutOf(agent());
    expect(first).toMatchObject({ status: 'done', session: rewarded });
    const failed = await rolloutOf(agent(), 'A bad one.<|im_end|>');
    expect(failed).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('ValueError: no answer'),
    });
  } finally {
    service.kill('SIGKILL');
  }
});
