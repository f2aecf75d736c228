/** Processes of a benchmark that answer each message by one. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

const children: ChildProcess[] = [];

/** Starts a file of this folder; resolves with the process and its first message. */
export async function started<Said>(
  file: string,
  args: readonly string[],
  execArgv: readonly string[] = [],
): Promise<{ readonly child: ChildProcess; readonly said: Said }> {
  const options = { execArgv: [...process.execArgv, ...execArgv] };
  const child = fork(new URL(file, import.meta.url), args, options);
  children.push(child);
  return { child, said: await heard<Said>(child) };
}

export function ask<Answer>(child: ChildProcess, what: object): Promise<Answer> {
  const answer = heard<Answer>(child);
  child.send(what);
  return answer;
}

async function heard<Said>(child: ChildProcess): Promise<Said> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error('a process of the benchmark ended');
  });
  try {
    const [said] = (await Promise.race([once(child, 'message', { signal }), ended])) as [Said];
    return said;
  } finally {
    ended.catch(() => undefined);
    over.abort();
  }
}

/** Ends all of them. */
export function end(): void {
  for (const child of children.splice(0)) child.kill();
}
