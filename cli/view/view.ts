/**
 * `millrace view`: serves the live page of the runs in a folder, from a process of its own that reads their
 * logs.
 *
 * Like a tap it belongs to no group and commits nothing, and it takes only the processor time that others
 * leave. It runs until it is interrupted.
 */
import { newSecret } from '../../base/index.ts';
import { servePage, type Viewer } from '../../page/server/http/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { findRun } from '../runs.ts';
import { hostOf } from './host.ts';

export interface ViewOptions {
  readonly run?: string;
  readonly runs: string;
  readonly port?: number;
  readonly host?: string;
  /** A text, or false for `--no-token`; undefined = a new one. */
  readonly token?: string | false;
  readonly trustedOrigin?: string;
  /** Accepts POSTs that pause, verify and replay, from clients with a second token. */
  readonly control?: boolean;
  /** It was started by a run and ends with it. */
  readonly beside?: boolean;
}

export async function viewCommand(options: ViewOptions, io: Io): Promise<number> {
  const checked = checkedOptions(options);
  if (options.run !== undefined) await findRun(io, options.runs, options.run);
  io.giveWay?.();
  const interrupted = interruption(io, null);
  try {
    const viewer = await serveView(options, checked, io);
    try {
      io.err(`runs of ${viewer.folder}`);
      if (viewer.control !== null) {
        io.err(
          `control token: ${viewer.control} (the page asks for it before it changes anything)`,
        );
      }
      io.err(`page at ${viewer.link}`);
      await ended(interrupted.signal, options.beside === true ? io : null);
    } finally {
      await viewer.close();
    }
  } finally {
    interrupted.release();
  }
  return exitCodes.done;
}

interface Checked {
  readonly token: string | null;
  readonly trustedOrigin: URL | null;
}

/**
 * An address that others can reach requires an explicit token and the name under which it is reached. Fails
 * with code `USAGE`.
 */
export function checkedOptions(options: ViewOptions): Checked {
  const { host, token, trustedOrigin, control = false } = options;
  const isLoopback = host === undefined || /^(127(\.\d{1,3}){3}|::1|localhost)$/.test(host);
  const origin = trustedOrigin === undefined ? null : originIn(trustedOrigin);
  if (token !== undefined && token !== false && !/^[\w.~-]{16,512}$/.test(token)) {
    throw usageError(
      '--token takes 16 to 512 letters, digits and . _ ~ - (use a long random text)',
    );
  }
  if (!isLoopback && (typeof token !== 'string' || origin === null)) {
    throw usageError(
      `other machines can reach ${host}: also give --token and --trusted-origin (https://name:port, as browsers see it), ` +
        'or drop --host and use a tunnel: ssh -L 7788:127.0.0.1:7788 HOST',
    );
  }
  if (token === false && origin !== null) {
    throw usageError('--trusted-origin needs a token; drop --no-token');
  }
  if (control && origin?.protocol === 'http:') {
    throw usageError(
      '--control needs an https --trusted-origin, so that its token cannot be read in transit',
    );
  }
  return {
    token: token === false ? null : (token ?? newSecret()),
    trustedOrigin: origin,
  };
}

function originIn(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
  if (isOrigin) return url;
  throw usageError(
    '--trusted-origin takes only scheme, name and port, such as https://mill.example:8443',
  );
}

export function serveView(
  { runs, control = false, ...options }: ViewOptions,
  checked: Checked,
  io: Io,
  pace: { readonly tickMs?: number } = {},
): Promise<Viewer> {
  return servePage({ ...options, ...checked, ...pace, control }, hostOf(runs, io));
}

/** By Ctrl-C, or with the run that started it. */
function ended(signal: AbortSignal, io: Io | null): Promise<void> {
  return new Promise((resolve) => {
    io?.onInputEnd?.(resolve);
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
