/**
 * The yardsticks: Python programs under `yardsticks/`, in an environment of their own.
 *
 * The environment is made once, from PyPI, in a cache folder of the user's; `MILLRACE_PYTHON` names another
 * interpreter that has the packages. A package that cannot be had leaves its rows unmeasured, with the
 * reason. A program stays for many calls, so that ours and theirs can take turns.
 */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const FOLDER = join(homedir(), '.cache', 'millrace-bench', 'python');
const OUTPUT_KEPT = 4000;

/** Modules by the package that has them. */
const PACKAGES = {
  torch: ['torch>=2'],
  transformers: ['transformers', 'safetensors'],
  peft: ['peft'],
  aiohttp: ['aiohttp'],
  gguf: ['gguf', 'safetensors'],
  llama_cpp: ['llama-cpp-python'],
} as const;
export type Module = keyof typeof PACKAGES;

/** An interpreter that has these modules, or why there is none. */
export function interpreter(
  modules: readonly Module[],
): { readonly path: string } | { readonly reason: string } {
  const given = process.env.MILLRACE_PYTHON;
  const path = given ?? join(FOLDER, 'bin', 'python');
  if (given === undefined && !existsSync(path)) {
    mkdirSync(dirname(FOLDER), { recursive: true });
    if (!runs('python3', ['-m', 'venv', FOLDER])) return { reason: 'no python3 with venv' };
  }
  for (const module of modules) {
    if (has(path, module)) continue;
    const packages = PACKAGES[module];
    if (given !== undefined) return { reason: `${given} lacks ${packages.join(', ')}` };
    console.error(`installing ${packages.join(', ')} in ${FOLDER}, once …`);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    if (!runs(path, [...pip, ...packages]) || !has(path, module))
      return { reason: `${packages[0]} cannot be installed` };
  }
  return { path };
}

function has(path: string, module: Module): boolean {
  return runs(path, [
    '-c',
    `import importlib.util as u, sys; sys.exit(u.find_spec('${module}') is None)`,
  ]);
}

function runs(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

export class Yardstick {
  readonly #name: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #answers: AsyncIterator<string>;
  #printed = '';

  private constructor(name: string, path: string) {
    this.#name = name;
    const script = fileURLToPath(new URL(`yardsticks/${name}.py`, import.meta.url));
    const quiet = { HF_HUB_OFFLINE: '1', TRANSFORMERS_VERBOSITY: 'error' };
    this.#child = spawn(path, [script], { env: { ...process.env, ...quiet } });
    this.#child.stderr.on('data', (text: Buffer) => {
      this.#printed = (this.#printed + text).slice(-OUTPUT_KEPT);
    });
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Start `yardsticks/<name>.py`, installing what it needs; or say why that cannot be. */
  static start(name: string, modules: readonly Module[]): Yardstick | { readonly reason: string } {
    const found = interpreter(modules);
    return 'path' in found ? new Yardstick(name, found.path) : found;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** One call; rejects with what Python printed when it fails. */
  async ask<Result>(call: string, args: object = {}): Promise<Result> {
    this.#child.stdin.write(`${JSON.stringify({ ...args, call })}\n`);
    const { value, done } = await this.#answers.next();
    if (done === true) throw new Error(`${this.#name}.py ended during ${call}:\n${this.#printed}`);
    const { result, error } = JSON.parse(value) as { result: Result; error?: string };
    if (error !== undefined) throw new Error(`${this.#name}.py ${call}:\n${error}`);
    return result;
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin.end();
    await ended;
  }
}
