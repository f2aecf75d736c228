/**
 * A worker thread that answers calls: one request, one reply, by number.
 *
 * The entry module calls `serve(handlers)`; the other side is `startWorker(entry)`. An error in a handler
 * comes back with its message and code (our own errors as such); when the worker dies, every open call
 * fails with the reason. Calls may overlap if handlers are asynchronous: callers that need an order keep it.
 */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { parentPort, type Transferable, Worker, type WorkerOptions } from 'node:worker_threads';
import { MillraceError } from './errors.ts';
import { systemCode } from './system/systemError.ts';

interface Request {
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: Failure;
}

/** An error on its way to the caller; with `context` if it is one of ours. */
interface Failure {
  readonly message: string;
  readonly code: string | undefined;
  /** Of a system error. */
  readonly path: string | undefined;
  readonly context?: MillraceError['context'];
}

function thrown({ message, code, path, context }: Failure): Error {
  if (code !== undefined && context !== undefined)
    return new MillraceError(code, message, { context });
  return Object.assign(new Error(message), { code, ...(path === undefined ? {} : { path }) });
}

/** Return this from a handler to move buffers instead of copying them. */
export class Moved {
  readonly value: unknown;
  readonly transfer: readonly Transferable[];

  constructor(value: unknown, transfer: readonly Transferable[]) {
    this.value = value;
    this.transfer = transfer;
  }
}

export type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

export interface WorkerHandle {
  /** Calls a handler. `transfer` moves buffers instead of copying them. */
  call<Result>(
    method: string,
    argument?: unknown,
    transfer?: readonly Transferable[],
  ): Promise<Result>;
  /** Ends the thread. Open calls fail. */
  close(): Promise<void>;
}

/** The module `name` next to the caller's, as source or built like the caller. */
export function workerEntry(name: string, caller: string): URL {
  return new URL(`./${name}${caller.endsWith('.ts') ? '.ts' : '.js'}`, caller);
}

/**
 * Runs a TypeScript entry: Node 20 takes no loaders from a worker's arguments, so a first script registers
 * tsx and imports the entry.
 */
function fromSource(entry: URL, options: WorkerOptions): Worker {
  const required = createRequire(import.meta.url).resolve('tsx/esm/api');
  const loader = pathToFileURL(required.replace(/\.cjs$/, '.mjs')).href;
  const script = `import(${JSON.stringify(loader)}).then(({ register }) => {
    register();
    return import(${JSON.stringify(entry.href)});
  })`;
  return new Worker(script, { ...options, eval: true, execArgv: [] });
}

/** A thread that runs an entry module, as source or built. */
export function threadOn(entry: URL, options: WorkerOptions): Worker {
  return entry.pathname.endsWith('.ts') ? fromSource(entry, options) : new Worker(entry, options);
}

/**
 * Starts a thread on an entry module that calls `serve`; it ends when its heap exceeds `heapMegabytesMax`.
 */
export function startWorker(
  entry: URL,
  { heapMegabytesMax }: { readonly heapMegabytesMax?: number } = {},
): WorkerHandle {
  const limits = { maxOldGenerationSizeMb: heapMegabytesMax };
  const options = heapMegabytesMax === undefined ? {} : { resourceLimits: limits };
  const worker = threadOn(entry, options);
  const open = new Map<number, (reply: Reply) => void>();
  let calls = 0;
  let ended: Failure | null = null;
  const end = (failure: Failure) => {
    ended ??= failure;
    for (const [id, settle] of [...open]) settle({ id, error: ended });
  };
  const endedBy = (message: string) => end({ message, code: 'WORKER_ENDED', path: undefined });
  worker.on('message', (reply: Reply) => open.get(reply.id)?.(reply));
  worker.on('error', (error: NodeJS.ErrnoException) => {
    const { message, code, path } = error;
    if (systemCode(error) !== null) end({ message, code, path });
    else endedBy(`worker ${entry.pathname} failed: ${message}`);
  });
  worker.on('exit', (code) => endedBy(`worker ${entry.pathname} exited with code ${code}`));
  return {
    call<Result>(method: string, argument?: unknown, transfer: readonly Transferable[] = []) {
      return new Promise<Result>((resolve, reject) => {
        const id = calls++;
        open.set(id, ({ result, error }) => {
          open.delete(id);
          if (error === undefined) resolve(result as Result);
          else reject(thrown(error));
        });
        if (ended !== null) end(ended);
        else worker.postMessage({ id, method, argument } satisfies Request, transfer);
      });
    },
    async close() {
      await worker.terminate();
      endedBy('the worker was closed');
    },
  };
}

/** Answers calls in this worker thread. */
export function serve(handlers: Handlers): void {
  const port = parentPort;
  if (port === null) throw new Error('serve() is for the entry module of a worker thread');
  const answer = async ({ id, method, argument }: Request) => {
    try {
      const handler = handlers[method] as ((argument: unknown) => unknown) | undefined;
      if (handler === undefined) throw new Error(`the worker has no method '${method}'`);
      const result = await handler(argument);
      if (result instanceof Moved)
        port.postMessage({ id, result: result.value } satisfies Reply, result.transfer);
      else port.postMessage({ id, result } satisfies Reply);
    } catch (error) {
      const { message, code, path } = error as NodeJS.ErrnoException;
      const ours = error instanceof MillraceError ? { context: error.context } : {};
      const failure = { message: message ?? String(error), code, path, ...ours };
      port.postMessage({ id, error: failure } satisfies Reply);
    }
  };
  port.on('message', (request: Request) => void answer(request));
}
