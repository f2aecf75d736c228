/**
 * `examples/environments/harbor_task.py` and Harbor itself: its trial, its agent Terminus-2 and its verifier,
 * in a folder instead of a container. `MILLRACE_HARBOR` is a Python that has Harbor.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { sleepClock, systemClock } from '../../base/index.ts';
import { commandAgent } from '../../gateway/index.ts';
import type { PolicyChat } from '../../gateway/sessions/policyChat.ts';
import type { ScriptLine } from '../../testing/scriptedPolicy.ts';
import { agentRollout } from '../support/agentRollout.ts';
import { hermesChat } from '../support/chatSession.ts';
import { temporaryFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';

const script = fileURLToPath(
  new URL('../../examples/environments/harbor_task.py', import.meta.url),
);
const sandbox = fileURLToPath(new URL('harbor', import.meta.url));
const python = process.env.MILLRACE_HARBOR ?? '';
const runs = (...[tool, ...options]: readonly [string, ...string[]]): boolean =>
  spawnSync(tool, options).status === 0;
const lacks = [
  ...(python !== '' ? [] : ['MILLRACE_HARBOR, a Python with Harbor']),
  ...(runs('unshare', '--mount', '--pid', '--fork', 'true') ? [] : ['namespaces']),
  ...(runs('tmux', '-V') ? [] : ['tmux']),
];
const withHarbor = lacks.length === 0 ? test : test.skip;
const why = lacks.length === 0 ? '' : ` (skipped: no ${lacks.join(', no ')})`;

const folder = temporaryFolder();
const tasks = join(folder.path, 'tasks');
const trials = join(folder.path, 'trials');
const pidFile = join(folder.path, 'pid');
afterAll(() => folder.remove());
let chat: PolicyChat;

/** Nothing listens there. */
const NOWHERE = 'tcp://127.0.0.1:9';

const FILES = {
  'greet/hello/task.toml': 'schema_version = "1.1"\n[task]\nname = "mine/hello"\n',
  'greet/hello/instruction.md': 'Write “Hello” to /app/hello.txt.\n',
  'greet/hello/environment/Dockerfile': 'FROM debian:bookworm-slim\nWORKDIR /app\n',
  'greet/hello/tests/test.sh': `#!/bin/bash
[ -e /app/nothing ] && exit
grep -q Hello /app/hello.txt && reward=0.75
echo '{"reward": '\${reward:-0}', "style": 0.5}' > /logs/verifier/reward.json\n`,
  'steps/task.toml': 'schema_version = "1.1"\n[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n',
  'steps/steps/one/instruction.md': 'First this.\n',
  'steps/steps/two/instruction.md': 'Then that.\n',
};

beforeAll(async () => {
  chat = await hermesChat(folder.path);
  mkdirSync(trials);
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(join(tasks, name, '..'), { recursive: true });
    writeFileSync(join(tasks, name), text);
  }
  chmodSync(join(tasks, 'greet/hello/tests/test.sh'), 0o755);
});
beforeEach(() => rmSync(pidFile, { force: true }));

/** What Terminus-2 reads. */
function turn(commands: readonly string[], done: boolean): string {
  const keys = commands.map((command) => ({ keystrokes: `${command}\n`, duration: 0.1 }));
  return `${JSON.stringify({ analysis: '', plan: '', commands: keys, task_complete: done })}<|im_end|>`;
}

/** Gives a command, says that it is done, and says so again when it is asked whether it is sure. */
const after =
  (command: string) =>
  ({ context }: ScriptLine): string =>
    context.includes('assistant\n{') ? turn([], true) : turn([command], false);

const diligent = after('echo Hello > hello.txt');

function rolloutOf(
  policy: (line: ScriptLine) => string,
  where = '-e folder_sandbox:FolderSandbox',
  signal?: AbortSignal,
) {
  const options = `${where} --agent-kwarg record_terminal_session=false`;
  const agent = commandAgent({
    command: `'${python}' -B '${script}' '${tasks}' ${options}`,
    timeoutMs: 300_000,
    clock: sleepClock(systemClock),
    env: {
      PYTHONPATH: sandbox,
      SANDBOX_PID: pidFile,
      TMPDIR: trials,
      HARBOR_TELEMETRY: '0',
      DOCKER_HOST: NOWHERE,
    },
  });
  const run = { agent, chat, script: policy, id: 'greet/hello' };
  return agentRollout({ ...run, ...(signal === undefined ? {} : { signal }) });
}

const filesOf = (path: string): string[] => readdirSync(path, { recursive: true }).map(String);
const sandboxPid = (): number => Number(readFileSync(pidFile, 'utf8'));

withHarbor(`a folder of tasks becomes questions${why}`, () => {
  const { stdout } = spawnSync(python, ['-B', script, 'questions', tasks], { encoding: 'utf8' });
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { id: 'greet/hello', question: 'Write “Hello” to /app/hello.txt.' },
    { id: 'steps', question: 'First this.' },
  ]);
});

withHarbor(`what the task's tests write is the reward${why}`, async () => {
  expect(await rolloutOf(diligent)).toMatchObject({
    status: 'done',
    session: { reward: 0.75, rewardReason: '{"reward": 0.75, "style": 0.5}' },
  });
});

withHarbor(`tests that write no reward fail the rollout${why}`, async () => {
  const silent = await rolloutOf(after('touch nothing'));
  expect(silent).toMatchObject({ status: 'failed', session: { reward: null } });
  expect(silent.reason).toContain('RewardFileNotFoundError');
});

withHarbor(`a sandbox that is away for a moment fails the rollout${why}`, async () => {
  const away = await rolloutOf((line) => {
    writeFileSync(`${pidFile}.away`, '');
    return diligent(line);
  });
  expect(away).toMatchObject({ status: 'failed', session: { reward: null } });
  expect(away.reason).toContain('ConnectionError');
});

withHarbor(`a sandbox that dies fails the rollout${why}`, async () => {
  const died = await rolloutOf((line) => {
    process.kill(sandboxPid(), 'SIGKILL');
    return diligent(line);
  });
  expect(died).toMatchObject({ status: 'failed', session: { reward: null } });
  expect(died.reason).toContain('RuntimeError');
});

withHarbor(`a sandbox that does not start fails the rollout${why}`, async () => {
  const never = await rolloutOf(diligent, '-e docker');
  expect(never).toMatchObject({ status: 'failed', session: { reward: null, calls: [] } });
  expect(never.reason).toMatch(/docker/i);
});

withHarbor(`a trial that is stopped takes its sandbox with it${why}`, async () => {
  const stopped = new AbortController();
  let pid = 0;
  const run = rolloutOf(
    () => {
      pid = sandboxPid();
      stopped.abort();
      return turn([], false);
    },
    undefined,
    stopped.signal,
  );
  await expect(run).rejects.toThrow();
  const gone = (): boolean => pid > 0 && !existsSync(`/proc/${pid}`);
  // The script ends in time and removes its folder, or it is killed, and Harbor writes what came of the trial.
  await until(() => {
    const left = filesOf(trials);
    return gone() && (left.length === 0 || left.some((name) => name.endsWith('result.json')));
  });
});
