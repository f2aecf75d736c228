/** The running server of the page: what it holds, where it listens, and the link that opens it. */
import { inspect } from 'node:util';
import { keepSecret, newSecret, withoutSecrets } from '../../../base/index.ts';
import { loadAssets } from './assets.ts';
import { Comparisons } from './comparisons.ts';
import type { Host } from './host.ts';
import { HotRuns } from './hotRuns.ts';
import { type Listening, listen } from './listen.ts';
import { Recomputing } from './recomputing.ts';
import { RunsFolder } from './runsFolder.ts';
import { answer } from './server.ts';

export interface ServeOptions {
  /** The run that the link opens; undefined = the list of runs. */
  readonly run?: string;
  readonly port?: number;
  readonly host?: string;
  /** Null = anyone who reaches the server may read. */
  readonly token: string | null;
  readonly trustedOrigin: URL | null;
  /** Takes POSTs from clients with a second token. */
  readonly control: boolean;
  /** How often streams look for changes. */
  readonly tickMs?: number;
}

export interface Viewer extends Listening {
  /** Opens the page in a browser that has no cookie yet. */
  readonly link: string;
  readonly folder: string;
  /** The token that every POST needs; null = POST is off. */
  readonly control: string | null;
}

export async function servePage(options: ServeOptions, host: Host): Promise<Viewer> {
  const { token, trustedOrigin, tickMs } = options;
  const hot = new HotRuns((name) => host.open(name));
  const assets = loadAssets();
  const failed = (error: unknown): void => host.say(withoutSecrets(inspect(error)));
  const served = { hot, folder: new RunsFolder(host), comparisons: new Comparisons(hot) };
  const pace = tickMs === undefined ? {} : { tickMs };
  const streams = { ...served, ...pace, clock: host.clock, server: newSecret() };
  const control = options.control ? newSecret() : null;
  for (const secret of [token, control]) keepSecret(secret ?? '');
  const recomputing = new Recomputing(host);
  const posts = control === null ? null : { host, recomputing };
  let cookie = '';
  const listening = await listen({ port: options.port, host: options.host }, (from, to) => {
    const guard = { token, trustedOrigin, cookie, control };
    answer(from, to, { guard, assets, streams, posts, failed, ...served }).catch(
      (error: unknown) => {
        failed(error);
        to.destroy();
      },
    );
  });
  // Cookies ignore ports, so two servers on one machine need cookies with different names.
  cookie = `millrace-${listening.port}`;
  return {
    ...listening,
    folder: host.folder,
    control,
    link: linkOf(options, listening),
    async close() {
      await listening.close();
      await recomputing.close();
      await hot.close();
    },
  };
}

function linkOf({ run, token, trustedOrigin }: ServeOptions, { host, port }: Listening): string {
  const name = host.includes(':') ? `[${host}]` : host;
  const origin = trustedOrigin?.origin ?? `http://${name}:${port}`;
  const path = run === undefined ? '/' : `/r/${run}`;
  return `${origin}${path}${token === null ? '' : `?t=${token}`}`;
}
