/** The view's data as the server gives it, and what the built page draws of it, in a document without a browser. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { runInThisContext } from 'node:vm';
import { parseHTML } from 'linkedom';
import { FROZEN_ID } from '../../../page/wire/index.ts';
import { tinyRun } from '../../support/tinyRun.ts';
import { until } from '../../support/until.ts';

const token = 'a-token-for-these-tests';
const path = '/r/first/pace';

export default async function run(folder: string): Promise<unknown> {
  await tinyRun(folder, 'first');
  const data = await served(folder);
  await import('../../../scripts/page/main.ts');
  return { data: data.steps.map(({ step }) => step), drawn: await drawn(data) };
}

interface Data {
  readonly steps: readonly { readonly step: number }[];
}

async function served(runs: string): Promise<Data> {
  const view = ['view', '--runs', runs, '--port', '0', '--token', token];
  const server = spawn(process.execPath, ['--import', 'tsx', 'cli/main.ts', ...view]);
  try {
    for await (const line of createInterface(server.stderr)) {
      const [origin] = /http:\/\/[^/]+/.exec(line) ?? [];
      if (origin === undefined) continue;
      const headers = { authorization: `Bearer ${token}` };
      return (await (await fetch(`${origin}${path}.json`, { headers })).json()) as Data;
    }
    throw new Error('the server did not start');
  } finally {
    server.kill();
  }
}

/** What each tab is called, and what the view shows. */
async function drawn(data: object): Promise<unknown> {
  const { document } = parseHTML('<html><head></head><body><div id="page"></div></body></html>');
  const frozen = document.createElement('script');
  frozen.id = FROZEN_ID;
  frozen.textContent = JSON.stringify({
    frozenMs: 0,
    start: path,
    json: { [`${path}.json`]: data },
  });
  document.body.append(frozen);
  const nothing = (): void => {};
  Object.assign(globalThis, {
    ...{ document, location: { hash: '' }, addEventListener: nothing },
    matchMedia: () => ({ addEventListener: nothing }),
    requestAnimationFrame: (draw: () => void) => setTimeout(draw, 0),
    cancelAnimationFrame: clearTimeout,
  });
  const bundle = JSON.parse(readFileSync('dist/page/browser/bundle.json', 'utf8'));
  runInThisContext(readFileSync(join('dist/page/browser', bundle.script), 'utf8'));
  const view = await until(() => document.querySelector('main ul'));
  const tabs = [...document.querySelectorAll('.tabs a')].map(({ textContent }) => textContent);
  return { tabs, view: view.textContent.replace(/took [\d.]+ m?s/g, 'took … ') };
}
