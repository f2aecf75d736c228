/**
 * The training service of `trainer/`, alone or started by torchrun, for tests.
 *
 * `MILLRACE_TRAINER_PYTHON` names a Python with torch, transformers, peft and aiohttp;
 * `MILLRACE_TRAINER_DEVICE` where it computes: `cpu` (default), or `cuda`, where each rank takes a GPU.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { until } from './until.ts';

export const trainerPython = process.env.MILLRACE_TRAINER_PYTHON ?? '';
const device = process.env.MILLRACE_TRAINER_DEVICE ?? 'cpu';

const tinyModel = fileURLToPath(new URL('../model/tinker/tinyModel.py', import.meta.url));
const env = {
  ...process.env,
  PYTHONPATH: fileURLToPath(new URL('../../trainer', import.meta.url)),
  OMP_NUM_THREADS: '1',
  // large blocks go back to the system: glibc would keep half as much again
  MALLOC_MMAP_THRESHOLD_: '262144',
  HF_HUB_OFFLINE: '1',
};

export interface TrainerService {
  readonly url: string;
  /** What it has printed so far. */
  readonly log: string;
  /** Processes of a rank, the newest last. */
  pids(rank: number): readonly number[];
  /** Asks for the result of a future too. */
  ask(route: string, body: object): Promise<Readonly<Record<string, unknown>>>;
  /** SIGKILL to all of it. */
  kill(): Promise<void>;
}

export interface TrainerStart {
  readonly model: string;
  readonly checkpoints: string;
  readonly ranks: number;
  /** A free one when left out. */
  readonly port?: number;
  readonly token?: string;
  readonly more?: readonly string[];
}

export async function startTrainer(start: TrainerStart): Promise<TrainerService> {
  const { model, checkpoints, ranks, token = '', more = [] } = start;
  const port = start.port ?? (await freePort());
  const torchrun = ['--standalone', '--max-restarts', '1', '--nproc-per-node', String(ranks)];
  const by = ranks === 1 ? [] : ['-m', 'torch.distributed.run', ...torchrun];
  const options = ['--model', model, '--checkpoints', checkpoints, '--port', String(port)];
  const all = [...by, '-m', 'millrace_trainer', ...options, '--device', device, ...more];
  const child = spawn(trainerPython, all, {
    env: { ...env, MILLRACE_TRAINER_TOKEN: token },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const service = running(child, `http://127.0.0.1:${port}`, lines, token);
  await until(() => {
    if (child.exitCode !== null) throw new Error(lines.join('\n'));
    return service.log.includes('listening on');
  });
  return service;
}

/** A random policy, made by transformers. */
export function makeTinyModel(kind: 'qwen' | 'llama', folder: string): void {
  execFileSync(trainerPython, [tinyModel, kind, folder], { env, stdio: 'ignore' });
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  server.close();
  await once(server, 'close');
  return port;
}

function running(
  child: ChildProcess,
  url: string,
  lines: readonly string[],
  token: string,
): TrainerService {
  const pids = (rank?: number) =>
    lines.flatMap((line) => {
      const [, pid, of] = /process (\d+) on \S+, rank (\d+) of/.exec(line) ?? [];
      return pid !== undefined && (rank === undefined || Number(of) === rank) ? [Number(pid)] : [];
    });
  const post = async (route: string, body: object) => {
    const headers = { 'content-type': 'application/json', 'x-api-key': token };
    const reply = await fetch(`${url}/api/v1/${route}`, {
      ...{ method: 'POST', headers, body: JSON.stringify(body) },
    });
    return { status: reply.status, ...((await reply.json()) as Record<string, unknown>) };
  };
  return {
    url,
    get log() {
      return lines.join('\n');
    },
    pids,
    async ask(route, body) {
      const reply: Record<string, unknown> = await post(route, body);
      if (reply.request_id === undefined) return reply;
      return { ...reply, ...(await post('retrieve_future', { request_id: reply.request_id })) };
    },
    async kill() {
      const gone =
        child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
      child.kill('SIGKILL');
      for (const pid of pids()) killed(pid);
      await gone;
    },
  };
}

/** Nothing when it is gone already. */
export function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
