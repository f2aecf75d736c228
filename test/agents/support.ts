/**
 * Other people's packages as agents: programs in JavaScript and Python that answer one question with one
 * tool, and are pointed at a gateway whose sessions answer from a script.
 *
 * `MILLRACE_AGENTS` names a folder in which `package.json` of this folder is installed,
 * `MILLRACE_AGENTS_PYTHON` a Python with `requirements.txt`. Tests without are skipped, and their titles say
 * so.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { test } from '@jest/globals';
import type { Listening } from '../../base/http/index.ts';
import { systemClock } from '../../base/index.ts';
import { gatewayServer } from '../../gateway/server/server.ts';
import type { ScriptedSessions } from '../support/scriptedSessions.ts';

const HERE = dirname(fileURLToPath(import.meta.url));

export interface Answer {
  readonly said?: string;
  readonly error?: string;
}

/** A program with agents. */
export class Agents {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #noise: string[] = [];

  constructor(command: string, ...args: readonly string[]) {
    // None of these may reach anyone but the gateway.
    const env = { PATH: process.env.PATH, HOME: '/nonexistent', DO_NOT_TRACK: '1' };
    this.#child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stderr!.on('data', (part) => {
      if (this.#noise.length < 200) this.#noise.push(String(part));
    });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  /** Runs one; `session` is its path. */
  async run(agent: string, baseUrl: string, key: string, stream: boolean): Promise<Answer> {
    this.#child.stdin!.write(`${JSON.stringify({ agent, baseUrl, key, stream })}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`the agents ended:\n${this.#noise.join('')}`);
    return JSON.parse(value) as Answer;
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }
}

/** A gateway for the scripted sessions, whose seconds are milliseconds, so that streams have keep-alives. */
export function hurriedGateway(
  sessions: ScriptedSessions,
  failed: (error: unknown) => void,
): Promise<Listening> {
  const clock = {
    now: () => systemClock.now(),
    sleep: async (ms: number, signal?: AbortSignal) => {
      await pause(ms / 1_000, undefined, signal === undefined ? {} : { signal });
    },
  };
  return gatewayServer({ sessions, clock, failed });
}

type Provided = (file: string) => Agents;
export type AgentTest = (title: string, body: (start: Provided) => Promise<void>) => void;

/** Tests with the JavaScript packages. */
export function withPackages(): AgentTest {
  const folder = process.env.MILLRACE_AGENTS ?? '';
  if (folder === '' || !existsSync(join(folder, 'node_modules', 'ai'))) {
    return skipped('install test/agents/package.json in a folder and name it in MILLRACE_AGENTS');
  }
  // Packages are found from where a program lies.
  cpSync(join(HERE, 'js'), join(folder, 'js'), { recursive: true });
  const run = join(folder, 'js', 'run.mjs');
  return (title, body) =>
    test(title, () => body((file) => new Agents(process.execPath, run, join(folder, 'js', file))));
}

/** Tests with the Python packages. */
export function withPython(): AgentTest {
  const python = process.env.MILLRACE_AGENTS_PYTHON ?? '';
  const imports =
    'import importlib.util as u; assert u.find_spec("agents") and u.find_spec("anthropic")';
  if (python === '' || spawnSync(python, ['-c', imports], { stdio: 'ignore' }).status !== 0) {
    return skipped('name a Python with test/agents/requirements.txt in MILLRACE_AGENTS_PYTHON');
  }
  const folder = join(HERE, 'python');
  return (title, body) =>
    test(title, () =>
      body((file) => new Agents(python, '-B', join(folder, 'run.py'), join(folder, file))),
    );
}

function skipped(why: string): AgentTest {
  return (title) => test.skip(`${title} (skipped: ${why})`, () => undefined);
}
