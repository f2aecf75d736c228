/**
 * Pages from servers of this machine: what happens to redirects, addresses, robots.txt, sizes, encodings and
 * files that hold a parser up. One reader (and its threads) for all tests.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../../base/clock.ts';
import { publicLookup } from '../../../../base/http/publicAddress.ts';
import { keepSecret } from '../../../../base/secrets.ts';
import { sleepClock } from '../../../../base/sleepClock.ts';
import { askOnce } from '../../../../operators/tools/cache/askOnce.ts';
import { browseTool } from '../../../../operators/tools/pages/browseTool.ts';
import {
  type PageSource,
  pageReader,
  type ReadPage,
} from '../../../../operators/tools/pages/pageReader.ts';
import { readerService } from '../../../../operators/tools/pages/readerService.ts';
import { webPages } from '../../../../operators/tools/pages/webPages.ts';
import { summariser } from '../../../../operators/tools/web/summarise.ts';
import { type ScriptedServer, scriptedServer } from '../../../support/scriptedServer.ts';

const signal = new AbortController().signal;
const clock = sleepClock(systemClock);
const article = (text: string) =>
  `<html><head><title>Of mills</title></head><body><nav>menu</nav><article><h1>Mills</h1>${`<p>${text}</p>`.repeat(4)}</article></body></html>`;
const LONG =
  'A mill, which is old, stands by the river, and its wheel turns all day, they say. '.repeat(3);

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const html =
  (body: string | Buffer, type = 'text/html; charset=utf-8'): Answer =>
  (_, response) =>
    void response.writeHead(200, { 'content-type': type }).end(body);
const to =
  (location: string): Answer =>
  (_, response) =>
    void response.writeHead(302, { location }).end();

let site: string;
let answers: Record<string, Answer> = {};
let asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(request.url ?? '');
  const answer = answers[request.url ?? ''];
  if (answer === undefined) response.writeHead(404).end('gone');
  else answer(request, response);
});
const sources: PageSource[] = [];
let open: ReadPage;

const reading = (source: PageSource): ReadPage => {
  sources.push(source);
  return pageReader({ source, once: askOnce(null) });
};

beforeAll(async () => {
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  open = reading(webPages({ clock, privateAddresses: true, bytesMax: 1_000_000 }));
});
afterAll(async () => {
  await Promise.all(sources.map((source) => source.close()));
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  answers = {};
  asked = [];
});

const textOf = async (path: string, read = open): Promise<string> => {
  const page = await read(`${site}${path}`, signal);
  return page.kind === 'read' ? page.text : `failed: ${page.reason}`;
};

describe('a web page', () => {
  test('is read as its text, without menus, scripts and styles', async () => {
    const noise = '<script>var a = 1</script><style>p{}</style><footer>imprint</footer>';
    answers['/a'] = html(article(`${LONG}<b>bold</b> &amp; <i>thin</i>`) + noise);
    const page = await open(`${site}/a#part`, signal);
    expect(page).toMatchObject({ kind: 'read', title: 'Of mills', format: 'html' });
    const text = await textOf('/a');
    expect(text).toContain('they say. bold & thin');
    expect(text).not.toMatch(/menu|imprint|var a/);
  });

  test('that is not an article is read whole', async () => {
    answers['/list'] = html('<ul><li>one<li>two</ul><table><tr><td>a<td>b</table>');
    expect(await textOf('/list')).toBe('- one\n\n- two\n\na b');
  });

  test('of text or JSON is taken as it is', async () => {
    answers['/t'] = html('a < b\n\n{"c": 1}', 'text/plain');
    expect(await textOf('/t')).toBe('a < b\n\n{"c": 1}');
  });

  test('is decompressed up to a limit', async () => {
    const packed =
      (size: number): Answer =>
      (_, response) => {
        const body = gzipSync(Buffer.alloc(size, 'x'));
        response
          .writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
          .end(body);
      };
    answers['/gz'] = packed(1000);
    answers['/bomb'] = packed(50_000_000);
    expect(await textOf('/gz')).toBe('x'.repeat(1000));
    expect(await textOf('/bomb')).toMatch(/^failed: .*over limit/);
  });

  test.each([
    ['utf-8 by the header', 'text/html; charset=utf-8', Buffer.from('<p>née 磨坊')],
    ['utf-8 by itself', 'text/html', Buffer.from('<p>née 磨坊')],
    ['gbk by the header', 'text/html; charset=gbk', Buffer.from('3c703e6ee96520c4a5b7bb', 'hex')],
    [
      'gb2312 by the page',
      'text/html',
      Buffer.concat([Buffer.from('<meta charset="gb2312"><p>'), Buffer.from('c4a5b7bb', 'hex')]),
    ],
    ['shift_jis', 'text/html; charset=Shift_JIS', Buffer.from('3c703e96811a', 'hex')],
    ['utf-16 by its mark', 'text/html', Buffer.from('\ufeff<p>née 磨坊', 'utf16le')],
    ['latin-1 by nothing', 'text/html', Buffer.from('<p>née', 'latin1')],
    ['an encoding that is none', 'text/html; charset=none', Buffer.from('<p>née 磨坊')],
  ])('is read in its encoding: %s', async (name, type, body) => {
    answers['/e'] = html(body, type);
    const text = await textOf('/e');
    if (/shift/.test(name)) expect(text).toMatch(/^[^\ufffd]/);
    else if (/gb2312/.test(name)) expect(text).toBe('磨坊');
    else if (/latin/.test(name)) expect(text).toBe('née');
    else if (!/gbk/.test(name)) expect(text).toBe('née 磨坊');
  });

  test('that does not exist, or is not text, is reported', async () => {
    answers['/image'] = html('x', 'image/png');
    answers['/empty'] = html('');
    expect(await textOf('/none')).toBe('failed: the server answers HTTP 404');
    expect(await textOf('/image')).toBe('failed: it is neither HTML nor PDF nor text');
    expect(await textOf('/empty')).toBe('');
  });

  test.each([
    '',
    'no url',
    'ftp://a/',
    'file:///etc/passwd',
    'http://u:p@a/',
    `http://a/${'x'.repeat(5000)}`,
  ])('is not requested at %j', async (url) => {
    expect(await open(url, signal)).toMatchObject({ kind: 'failed' });
    expect(asked).toEqual([]);
  });
});

describe('redirects', () => {
  test('are followed up to a limit', async () => {
    answers['/1'] = to('/2');
    answers['/2'] = to(`${site}/3`);
    answers['/3'] = html('<p>there');
    answers['/loop'] = to('/loop');
    expect(await textOf('/1')).toBe('there');
    expect(await textOf('/loop')).toMatch(/without end/);
    expect(asked.filter((path) => path === '/loop').length).toBe(6);
  });

  test.each(['file:///etc/passwd', 'ftp://a/', 'http://u:p@a/', 'javascript:alert(1)', ''])(
    'to %j are refused',
    async (location) => {
      answers['/odd'] = to(location);
      if (location === '') answers['/odd'] = (_, response) => void response.writeHead(302).end();
      expect(await textOf('/odd')).toMatch(/leads to no address|without end/);
    },
  );
});

describe('private addresses', () => {
  /** Names of the test are at these addresses; the check is the product's own. */
  const closed = reading(
    webPages({
      clock,
      lookup: publicLookup((host, done) =>
        done(null, [{ address: host === 'inside.example' ? '127.0.0.1' : '10.0.0.7', family: 4 }]),
      ),
    }),
  );
  const port = (): string => site.split(':').at(-1)!;

  test.each([
    'http://127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f.1:PORT/',
    'http://inside.example:PORT/',
    'http://169.254.169.254/latest/meta-data/',
  ])('are not requested: %s', async (url) => {
    answers['/'] = html('<p>inside');
    const page = await closed(url.replace('PORT', port()), signal);
    expect(page).toMatchObject({ kind: 'failed', reason: expect.stringMatching(/public/) });
    expect(asked).toEqual([]);
  });

  test('are not reached by a redirect either', async () => {
    // What allows this machine's site, and nothing else that is private, acts as a public site.
    const outside = publicLookup((_, done) => done(null, [{ address: '127.0.0.1', family: 4 }]));
    const guarded = reading(
      webPages({
        clock,
        robots: false,
        lookup: (host, options, callback) =>
          host === 'public.example'
            ? options.all === true
              ? callback(null, [{ address: '127.0.0.1', family: 4 }])
              : callback(null, '127.0.0.1', 4)
            : outside(host, options, callback),
      }),
    );
    answers['/in'] = to(`http://inside.example:${port()}/secret`);
    answers['/literal'] = to(`http://127.0.0.1:${port()}/secret`);
    answers['/mapped'] = to(`http://[::ffff:7f00:1]:${port()}/secret`);
    answers['/fine'] = html('<p>fine');
    answers['/secret'] = html('<p>secret');
    const at = (path: string) => guarded(`http://public.example:${port()}${path}`, signal);
    expect(await at('/fine')).toMatchObject({ kind: 'read', text: 'fine' });
    for (const path of ['/in', '/literal', '/mapped']) {
      expect(await at(path)).toMatchObject({ reason: expect.stringMatching(/public/) });
    }
    expect(asked).toEqual(['/fine', '/in', '/literal', '/mapped']);
  });
});

describe('robots.txt', () => {
  const polite = () => reading(webPages({ clock, privateAddresses: true }));

  test('is requested once, and obeyed', async () => {
    answers['/robots.txt'] = html('User-agent: *\nDisallow: /closed', 'text/plain');
    answers['/open'] = html('<p>open');
    answers['/closed/a'] = html('<p>closed');
    const read = polite();
    const both = await Promise.all(
      ['/open', '/closed/a', '/open?2'].map((path) => textOf(path, read)),
    );
    expect(both).toEqual([
      'open',
      'failed: the site does not allow it (robots.txt)',
      'failed: the server answers HTTP 404',
    ]);
    expect(asked.filter((path) => path === '/robots.txt')).toEqual(['/robots.txt']);
    const rude = reading(webPages({ clock, privateAddresses: true, robots: false }));
    expect(await textOf('/closed/a', rude)).toBe('closed');
  });

  test('that does not exist allows everything; one of a site that is down allows nothing', async () => {
    answers['/a'] = html('<p>a');
    expect(await textOf('/a', polite())).toBe('a');
    answers['/robots.txt'] = (_, response) => void response.writeHead(503).end();
    expect(await textOf('/a', polite())).toMatch(/robots/);
  });
});

describe('a parser that hangs', () => {
  test('is ended, and the next page is read', async () => {
    const read = reading(
      webPages({
        clock: { ...clock, sleep: (ms, ended) => clock.sleep(ms === 777 ? 300 : ms, ended) },
        privateAddresses: true,
        parsing: { timeoutMs: 777, threads: 1 },
      }),
    );
    answers['/deep'] = html('<div>'.repeat(300_000));
    answers['/after'] = html('<p>after', 'text/plain');
    const deep = await textOf('/deep', read);
    expect(deep).toMatch(/^failed: .*(time or memory|call stack)/i);
    const generous = reading(webPages({ clock, privateAddresses: true }));
    expect(await textOf('/after', generous)).toBe('<p>after');
  });
});

describe('browse', () => {
  test('shows a page, cut to length, or says why it cannot', async () => {
    answers['/a'] = html(article(LONG));
    const tool = browseTool({ read: open, charactersMax: 30 });
    const { output, ok } = await tool.run(`${site}/a\nwho?`, signal);
    expect([ok, output.startsWith('Of mills\n\n'), output.length, output.endsWith('...')]).toEqual([
      true,
      true,
      33,
      true,
    ]);
    expect(await tool.run(`{"url": "${site}/none"}`, signal)).toEqual({
      output: 'Error: the page cannot be read: the server answers HTTP 404',
      ok: false,
    });
    expect((await tool.run('{"url', signal)).ok).toBe(false);
  });

  test('shows what a model finds about the question', async () => {
    answers['/a'] = html(article(LONG));
    const prompts: string[] = [];
    const summing = summariser({
      ...{ once: askOnce(null), scope: '' },
      ask: async ({ prompt }) => {
        prompts.push(prompt);
        return '**Final Information** by the river';
      },
    });
    const tool = browseTool({ read: open, summariser: summing });
    const { output } = await tool.run(`{"url": "${site}/a", "question": "Where is it?"}`, signal);
    expect(output).toBe('by the river');
    expect(prompts[0]).toMatch(/Wanted:\nWhere is it\?[\s\S]*A mill, which is old/);
  });
});

describe('a reader service', () => {
  const KEY = 'reader-key-000111';
  let service: ScriptedServer;
  let reply: readonly [number, unknown];
  beforeAll(async () => {
    keepSecret(KEY);
    service = await scriptedServer((_, response) => {
      response.writeHead(reply[0], { 'content-type': 'application/json' });
      response.end(JSON.stringify(reply[1]));
    });
  });
  afterAll(() => service.close());
  const read = (url: string, privateAddresses = false) =>
    reading(readerService({ url: service.url, key: KEY, clock, privateAddresses }))(url, signal);

  test('is requested in the form of Jina', async () => {
    reply = [200, { code: 200, data: { title: 'T', url: 'u', content: `a\u202eb ${KEY}` } }];
    expect(await read('https://8.8.8.8/x?y=1#z')).toEqual({
      ...{ kind: 'read', title: 'T', text: 'ab [secret]', format: 'text' },
    });
    expect(service.seen.at(-1)).toMatchObject({
      path: '/https://8.8.8.8/x?y=1',
      headers: { authorization: `Bearer ${KEY}`, accept: 'application/json' },
    });
  });

  test('gets no private addresses, and its failures are reported', async () => {
    const before = service.seen.length;
    expect(await read('http://127.0.0.1/')).toMatchObject({
      reason: expect.stringMatching(/public/),
    });
    expect(service.seen.length).toBe(before);
    reply = [422, { message: `no such page, ${KEY}` }];
    expect(await read('http://127.0.0.1/', true)).toEqual({
      ...{ kind: 'failed', reason: 'the reader answers HTTP 422: no such page, [secret]' },
    });
    reply = [200, { data: {} }];
    expect(await read('https://8.8.8.8/')).toMatchObject({ kind: 'failed' });
  });
});
