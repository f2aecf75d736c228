/**
 * `fetch` for servers that must not fill our memory: a reply fails once it is larger than a message may be;
 * an event stream, which may last for days, once one event is.
 */
type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export function boundedFetch(bytesMax: number, own: Fetch = fetch): Fetch {
  return async (url, init) => {
    const reply = await own(url, init);
    const { body, headers, status, statusText } = reply;
    if (body === null) return reply;
    const isStream = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');
    const bounded = body.pipeThrough(boundedBy(bytesMax, isStream));
    const copy = new Response(bounded, { status, statusText, headers });
    Object.defineProperty(copy, 'url', { value: reply.url });
    return copy;
  };
}

const LINE_END = 10;

/** `byEvent`: an empty line ends an event and resets the count. */
function boundedBy(bytesMax: number, byEvent: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let lineIsEmpty = true;
  return new TransformStream({
    transform(chunk, controller) {
      if (!byEvent) bytes += chunk.length;
      else {
        for (const byte of chunk) {
          bytes += 1;
          if (byte === LINE_END && lineIsEmpty) bytes = 0;
          if (byte !== 13) lineIsEmpty = byte === LINE_END;
        }
      }
      if (bytes > bytesMax) controller.error(new Error(`a reply of more than ${bytesMax} bytes`));
      else controller.enqueue(chunk);
    },
  });
}
