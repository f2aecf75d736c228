/** `millrace weights receive`: takes the weights that a run publishes, on a model server's machine. */
import { resolve } from 'node:path';
import { exitCodes } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { shownError } from '../retriever/service.ts';
import { serveReceiver } from './service.ts';
import { WeightsStore } from './store.ts';

export interface ReceiveOptions {
  readonly folder: string;
  readonly seenAs?: string;
  readonly port: number;
  readonly host: string;
  readonly tokenEnv: string;
  readonly keep: number;
}

export async function receiveCommand(options: ReceiveOptions, io: Io): Promise<number> {
  const { port, host, tokenEnv, keep } = options;
  const folder = resolve(io.cwd, options.folder);
  const { signal, release } = interruption(
    io,
    'finishing what is being received; press Ctrl-C again to stop at once',
  );
  try {
    const say = (line: string): void => io.err(line);
    const seenAs = options.seenAs ?? folder;
    const store = await WeightsStore.open({ folder, seenAs, keep, clock: io.clock, say });
    const token = process.env[tokenEnv]?.trim() ?? '';
    const failed = (error: unknown): void => io.err(shownError(error));
    const service = await serveReceiver({ host, port, token, tokenEnv, store, failed });
    io.err(`receiving weights at ${service.url} into ${folder}`);
    await new Promise<void>((end) => {
      if (signal.aborted) end();
      signal.addEventListener('abort', () => end(), { once: true });
    });
    await service.end();
    return exitCodes.done;
  } finally {
    release();
  }
}
