/**
 * A collector that takes spans by OTLP over HTTP (protocol buffers, by their published field numbers) and
 * keeps them.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly failed: boolean;
}
export interface OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  readonly resources: Readonly<Record<string, unknown>>[];
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[];
  /** Statuses of the next answers; what is not 200 is not kept. */
  readonly statuses: number[];
  close(): Promise<void>;
}

const PROTO = `
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; repeated Link links = 13; Status status = 15;
}
message Link { bytes trace_id = 1; bytes span_id = 2; }
message Status { int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; }
}
message ArrayValue { repeated AnyValue values = 1; }
`;
const request = protobuf.parse(PROTO).root.lookupType('Request');

export async function otlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const resources: Record<string, unknown>[] = [];
  const requests: OtlpReceiver['requests'] = [];
  const statuses: number[] = [];
  const server = createServer(async (from, to) => {
    const chunks: Buffer[] = [];
    for await (const chunk of from) chunks.push(chunk as Buffer);
    requests.push({ path: from.url!, headers: from.headers });
    const status = statuses.shift() ?? 200;
    if (status === 200) keep(Buffer.concat(chunks), from.headers['content-encoding']);
    to.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
  });
  const keep = (body: Buffer, encoding: string | undefined): void => {
    const bytes = encoding === 'gzip' ? gunzipSync(body) : body;
    const plain = request.toObject(request.decode(bytes), {
      longs: Number,
      bytes: Buffer,
      defaults: true,
    }) as Decoded;
    for (const { resource, scopeSpans } of plain.resourceSpans) {
      resources.push(record(resource.attributes));
      for (const scope of scopeSpans) spans.push(...scope.spans.map(shown));
    }
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    resources,
    requests,
    statuses,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Value = Readonly<Record<string, unknown>>;
type Pairs = readonly { readonly key: string; readonly value: Value }[];
interface RawSpan {
  readonly traceId: Buffer;
  readonly spanId: Buffer;
  readonly parentSpanId: Buffer;
  readonly name: string;
  readonly startTimeUnixNano: number;
  readonly endTimeUnixNano: number;
  readonly attributes: Pairs;
  readonly links: readonly { readonly traceId: Buffer; readonly spanId: Buffer }[];
  readonly status: { readonly code: number } | null;
}
interface Decoded {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Pairs };
    readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[];
  }[];
}

function shown(span: RawSpan): ReceivedSpan {
  const ids = (of: { readonly traceId: Buffer; readonly spanId: Buffer }) => ({
    traceId: of.traceId.toString('hex'),
    spanId: of.spanId.toString('hex'),
  });
  return {
    ...ids(span),
    parentSpanId: span.parentSpanId.toString('hex'),
    name: span.name,
    startMs: span.startTimeUnixNano / 1e6,
    endMs: span.endTimeUnixNano / 1e6,
    attributes: record(span.attributes),
    links: span.links.map(ids),
    failed: span.status?.code === 2,
  };
}

function record(pairs: Pairs): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, valueIn(value)]));
}

function valueIn(value: Value): unknown {
  const { arrayValue } = value as { readonly arrayValue?: { readonly values: readonly Value[] } };
  return arrayValue === undefined || arrayValue === null
    ? Object.values(value).find((one) => one !== undefined && one !== null)
    : arrayValue.values.map(valueIn);
}
