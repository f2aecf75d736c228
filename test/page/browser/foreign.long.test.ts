/**
 * A page of another site, in a real browser that may read the live page: what it sends to the server is
 * refused, under the server's own address and under a name of that site that leads to this machine (DNS
 * rebinding).
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { temporaryFolder } from '../../support/folder.ts';
import { tinyRun } from '../../support/tinyRun.ts';
import { launch, type Viewer, view, type Watched, watched, withBrowser } from './support.ts';

withBrowser('a page of another site', () => {
  const runs = temporaryFolder();
  let viewer: Viewer;
  let browser: Browser;
  let site: Server;
  let seen: Watched;
  let page: Page;

  beforeAll(async () => {
    await tinyRun(runs.path, 'tiny');
    site = createServer((_, to) => {
      to.setHeader('content-type', 'text/html').end('<title>evil</title>');
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    [viewer, browser] = await Promise.all([
      view(runs.path, 0, ['--control']),
      launch(['--host-resolver-rules=MAP evil.example 127.0.0.1']),
    ]);
    // This browser has the token of reading as a cookie.
    seen = await watched(browser, viewer);
    page = await seen.context.newPage();
    await page.goto(`http://evil.example:${(site.address() as AddressInfo).port}/`);
  });

  afterAll(async () => {
    await browser?.close();
    await viewer?.kill();
    site.close();
    runs.remove();
  });

  /** What a script of that page gets: a status and the text, or that the browser gave it nothing. */
  function asked(url: string, options: object = {}): Promise<string> {
    return page.evaluate<string>(`fetch(${JSON.stringify(url)}, ${JSON.stringify(options)}).then(
      async (response) => response.type + ' ' + response.status + ' ' + (await response.text()),
      () => 'nothing')`);
  }

  test.each(['cors', 'no-cors'])('reads nothing: %s', async (mode) => {
    const options = { mode, credentials: 'include' };
    for (const path of ['/runs.json', '/r/tiny.json', '/stream?runs=1', '/']) {
      expect(await asked(viewer.origin + path, options)).toBe('nothing');
    }
  });

  test('changes nothing by a script or a form', async () => {
    const url = `${viewer.origin}/control/verify`;
    const body = JSON.stringify({ run: 'tiny' });
    const headers = {
      'content-type': 'application/json',
      'x-millrace': '1',
      'x-millrace-control': viewer.control,
    };
    // Even with the token of control: the browser asks before, and is refused.
    expect(await asked(url, { method: 'POST', headers, body })).toBe('nothing');
    const simple = { method: 'POST', mode: 'no-cors', credentials: 'include', body };
    expect(await asked(url, simple)).toBe('nothing');
    const answer = page.waitForResponse(url);
    await page.evaluate(`(() => {
      const form = document.createElement('form');
      form.method = 'post';
      form.action = ${JSON.stringify(url)};
      document.body.append(form);
      form.submit();
    })()`);
    expect((await answer).status()).toBe(403);
    await page.waitForURL(url);
    const data = await seen.context.request.get(`${viewer.origin}/control.json`);
    expect(await data.json()).toMatchObject({ control: true, job: null });
  });

  test('has no access by a name of its own that leads to this machine', async () => {
    const rebound = `http://evil.example:${viewer.port}`;
    for (const path of ['/', '/runs.json', '/?t=tests-of-the-page-0123456789']) {
      const response = await page.goto(rebound + path);
      expect(response!.status()).toBe(403);
      expect(await response!.text()).not.toContain('tiny');
    }
    expect(await asked(`${rebound}/runs.json`)).toMatch(/^basic 403 .*"code":"HOST"/);
  });
});
