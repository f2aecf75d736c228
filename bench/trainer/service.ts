/**
 * A training service that computes nothing and takes its time, in a process of its own: `tsx
 * bench/trainer/service.ts MS TOKENS once|twice [json|packed|losses]`. It takes packed numbers (`packed`)
 * unless it is told otherwise, and has our losses too if it is told `losses`.
 *
 * Requests are computed one after the other, as on a machine with one set of accelerators. A step of `TOKENS`
 * tokens takes `MS`: a token costs one part in `forward` and two more in `forward_backward`. Log-probs are
 * the same numbers always. It prints its address, and answers GET `/busy` with the milliseconds that it has
 * been computing.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const [stepMs, stepTokens] = process.argv.slice(2).map(Number) as [number, number];
const tokenMs = stepMs / stepTokens;
const wire = process.argv[5] ?? 'packed';

let busyUntil = 0;
let busyMs = 0;
let count = 0;
const ready = new Map<string, { readonly atMs: number; readonly body: string | Buffer }>();

function work(ms: number, body: string | Buffer): string {
  const now = performance.now();
  busyUntil = Math.max(now, busyUntil) + ms;
  busyMs += ms;
  const id = String(++count);
  ready.set(id, { atMs: busyUntil, body });
  return JSON.stringify({ request_id: id });
}

/** Lengths of the datums of a body, without parsing megabytes: each says its shape three or four times. */
function lengthsIn(body: Buffer): number[] {
  const lengths: number[] = [];
  for (let at = body.indexOf(TARGETS); at >= 0; at = body.indexOf(TARGETS, at + 1)) {
    const from = body.indexOf(SHAPE, at) + SHAPE.length;
    lengths.push(Number(body.toString('latin1', from, body.indexOf(']', from))));
  }
  return lengths;
}
const TARGETS = '"target_tokens"';
const SHAPE = '"shape":[';

const written = new Map<number, string>();

/** The same of a packed body, from its head. */
function packedLengths(body: Buffer): number[] {
  const end = 12 + body.readUInt32LE(8);
  return (JSON.parse(body.toString('utf8', 12, end)) as { readonly lengths: number[] }).lengths;
}

/** Whether it asks for sums alone. */
function asksForSums(body: Buffer): boolean {
  const end = 12 + body.readUInt32LE(8);
  return (JSON.parse(body.toString('utf8', 12, end)) as { readonly sums?: boolean }).sums === true;
}

function sumsReply(): Buffer {
  const text = JSON.stringify({ loss: 1, tokens: 1, clipped: 0, drift: 0, apart: 0, apart_max: 0 });
  const start = Buffer.concat([Buffer.from('MILLPAK1'), Buffer.alloc(4), Buffer.from(text)]);
  start.writeUInt32LE(text.length, 8);
  return start;
}

function packedReply(lengths: readonly number[]): Buffer {
  const text = JSON.stringify({ lengths });
  const head = Buffer.from(text.padEnd(text.length + ((4 - (text.length % 4)) % 4)));
  const start = Buffer.concat([Buffer.from('MILLPAK1'), Buffer.alloc(4), head]);
  start.writeUInt32LE(head.length, 8);
  const numbers = lengths.map((length) =>
    Float32Array.from({ length }, (_, i) => -0.5 - 0.4 * Math.sin(i)),
  );
  return Buffer.concat([start, ...numbers.map(({ buffer }) => Buffer.from(buffer))]);
}

function logProbs(length: number): string {
  const known = written.get(length);
  if (known !== undefined) return known;
  const data = Array.from({ length }, (_, i) => Math.fround(-0.5 - 0.4 * Math.sin(i)));
  const tensor = `{"data":[${data.join()}],"dtype":"float32","shape":[${length}]}`;
  const text = `{"elementwise_loss":${tensor},"logprobs":${tensor}}`;
  written.set(length, text);
  return text;
}

function passed(body: Buffer, parts: number): string {
  const packed = body.toString('latin1', 0, 8) === 'MILLPAK1';
  const lengths = packed ? packedLengths(body) : lengthsIn(body);
  const tokens = lengths.reduce((sum, length) => sum + length + 1, 0);
  // the few tokens of a probe do not count as work
  const ms = tokens < 100 ? 0 : parts * tokens * tokenMs;
  if (packed) return work(ms, asksForSums(body) ? sumsReply() : packedReply(lengths));
  return work(ms, `{"loss_fn_outputs":[${lengths.map(logProbs).join()}],"metrics":{}}`);
}

const server = createServer(async (request, response) => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  const send = (text: string | Buffer) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  };
  switch (request.url?.replace('/api/v1/', '')) {
    case '/busy':
      return send(String(busyMs));
    case 'get_server_capabilities':
      return send(
        JSON.stringify({
          supported_models: [{ model_name: 'simulated' }],
          ...(wire === 'json' ? {} : { packed: 1 }),
          ...(wire === 'losses' ? { millrace_losses: ['clipped'] } : {}),
        }),
      );
    case 'create_session':
      return send('{"session_id":"one"}');
    case 'create_model':
      return send(work(0, '{"model_id":"model"}'));
    case 'forward':
      return send(passed(body, SHARES.forward));
    case 'forward_backward':
      return send(passed(body, SHARES.backward));
    case 'optim_step':
      return send(work(0, '{"metrics":{"grad_norm":1}}'));
    case 'retrieve_future': {
      const { request_id: id } = JSON.parse(body.toString()) as { request_id: string };
      const found = ready.get(id);
      if (found === undefined) return response.writeHead(404).end('{}');
      ready.delete(id);
      const leftMs = found.atMs - performance.now();
      if (leftMs > 0) setTimeout(() => send(found.body), leftMs);
      else send(found.body);
      return;
    }
    default:
      return send(work(0, '{}'));
  }
});

/** Of a step's time: both passes of two, or the only one, take all of it. */
const SHARES =
  process.argv[4] === 'once' ? { forward: 0, backward: 1 } : { forward: 0.25, backward: 0.75 };

server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
