import { describe, expect, test } from '@jest/globals';
import { boundedFetch } from '../../../../operators/tools/mcp/boundedFetch.ts';

const KILOBYTE = 'x'.repeat(1_000);

/** A server that goes on for as long as it is read; `sent` counts. */
function endless(type: string, part: string) {
  const counted = { sent: 0 };
  const body = (): ReadableStream<Uint8Array> =>
    new ReadableStream({
      pull(controller) {
        counted.sent += part.length;
        controller.enqueue(Buffer.from(part));
      },
    });
  const reply = async () => new Response(body(), { headers: { 'content-type': type } });
  return { counted, fetch: boundedFetch(100_000, reply) };
}

describe('an MCP reply', () => {
  test('of the largest allowed size is read whole', async () => {
    const body = 'y'.repeat(100_000);
    const reply = await boundedFetch(100_000, async () => new Response(body))('http://h/');
    expect(await reply.text()).toBe(body);
  });

  test.each([
    ['of JSON', 'application/json', KILOBYTE],
    ['of JSON that looks like events', 'application/json', 'data: x\n\n'],
    ['of events, one of which does not end', 'text/event-stream', KILOBYTE],
    ['of events with lines and no empty one', 'text/event-stream; charset=utf-8', 'data: x\r\n'],
  ])('that never ends, %s, ends in an error and is read no further', async (_, type, part) => {
    const { fetch, counted } = endless(type, part);
    const reply = await fetch('http://h/');
    await expect(reply.text()).rejects.toThrow('a reply of more than 100000 bytes');
    expect(counted.sent).toBeLessThan(300_000);
  });

  test('of events may go on as long as each event is small', async () => {
    const { fetch, counted } = endless('text/event-stream', `data: ${KILOBYTE}\n\n`);
    const reader = (await fetch('http://h/')).body!.getReader();
    for (let read = 0; read < 1_000_000; ) read += (await reader.read()).value!.length;
    await reader.cancel();
    expect(counted.sent).toBeGreaterThan(1_000_000);
  });
});
