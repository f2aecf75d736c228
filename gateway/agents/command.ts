/**
 * `command`: an agent that is a program. It is started for each rollout, in a process group of its own, with
 * the question as JSON on its standard input and in `MILLRACE_QUESTION`, and with the variables that the SDKs
 * of OpenAI and Anthropic read.
 *
 * A program that ends with a code other than 0, or by a signal, has failed: its work counts for nothing. So
 * has one that takes longer than it may; nothing of its group is left then.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { outsideText, type SleepClock } from '../../base/index.ts';
import { type Agent, type AgentEnd, type AgentTask, agentVariables } from './agent.ts';

export interface CommandOptions {
  /** A command line for the shell. */
  readonly command: string;
  readonly timeoutMs: number;
  readonly clock: SleepClock;
  /** Additional variables; they override those that are passed on. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Characters of its output that are kept, from the end. */
const OUTPUT_MAX = 4_000;
/** Time between the request to stop and the kill. */
const GRACE_MS = 3_000;
const WINDOWS = process.platform === 'win32';

/** See above. */
export function commandAgent({ command, timeoutMs, clock, env = {} }: CommandOptions): Agent {
  return {
    async run(task, signal) {
      signal.throwIfAborted();
      const child = spawn(command, {
        shell: true,
        detached: !WINDOWS,
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...process.env, ...env, ...agentVariables(task) },
      });
      const output = tail(child.stdout);
      const errors = tail(child.stderr);
      // A program that does not read its input closes the pipe.
      child.stdin.on('error', () => undefined);
      child.stdin.end(`${JSON.stringify(inputOf(task))}\n`);
      const over = new AbortController();
      const timer = clock.sleep(timeoutMs, over.signal).then(
        () => 'time' as const,
        () => 'ended' as const,
      );
      const stopped = new Promise<'stop'>((resolve) => {
        signal.addEventListener('abort', () => resolve('stop'), {
          once: true,
          signal: over.signal,
        });
      });
      const ended = endOf(child);
      try {
        const first = await Promise.race([ended, timer, stopped]);
        if (typeof first === 'string') {
          await stop(child, ended, clock);
          signal.throwIfAborted();
          return failed(`took longer than ${Math.round(timeoutMs / 1000)} s (agent.timeoutMs)`);
        }
        return endedBy(first, clean(output(), task), clean(errors(), task));
      } finally {
        over.abort();
        // The signal goes to the whole process group.
        killGroup(child, 'SIGKILL');
      }
    },
    close: async () => undefined,
  };
}

/** How a program ended. */
interface Exit {
  readonly code: number | null;
  readonly by: string;
}

function inputOf({ id, question, index }: AgentTask) {
  const { question: text, task } = question;
  return { id: question.id, question: text, rollout: id, index, ...(task ? { task } : {}) };
}

function endOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('error', ({ message }) => resolve({ code: null, by: message }));
    child.once('close', (code, by) => resolve({ code, by: by ?? '' }));
  });
}

async function stop(child: ChildProcess, ended: Promise<Exit>, clock: SleepClock): Promise<void> {
  killGroup(child, 'SIGTERM');
  const over = new AbortController();
  const wait = clock.sleep(GRACE_MS, over.signal).catch(() => undefined);
  await Promise.race([ended, wait]);
  over.abort();
  killGroup(child, 'SIGKILL');
  await ended;
}

function killGroup({ pid }: ChildProcess, by: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(WINDOWS ? pid : -pid, by);
  } catch {
    // Kills whatever is left of the group.
  }
}

function endedBy({ code, by }: Exit, output: string, errors: string): AgentEnd {
  if (code === 0) return { failure: '', exitCode: 0, output };
  const how = code === null ? `was ended by ${by}` : `ended with code ${code}`;
  const said = errors.trim() === '' ? output : errors;
  const why = said.trim() === '' ? '' : `: ${outsideText(said.trim().slice(-400))}`;
  return { failure: `the agent ${how}${why}`, exitCode: code, output: said };
}

function failed(what: string): AgentEnd {
  return { failure: `the agent ${what}`, exitCode: null, output: '' };
}

/** The end of what a stream has said. */
function tail(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (piece: string) => {
    text = `${text}${piece}`.slice(-2 * OUTPUT_MAX);
  });
  return () => text;
}

/** Removes the session's key, which nobody may see, before cutting: a cut key would not be found. */
function clean(text: string, { key }: AgentTask): string {
  return text.replaceAll(key, '[key]').slice(-OUTPUT_MAX);
}
