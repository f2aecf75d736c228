/**
 * Sends spans to an OpenTelemetry collector with OpenTelemetry's own SDK, as protocol buffers over HTTP
 * (OTLP). Retries requests until it answers, except those that it refuses.
 */
import { MillraceError, messageOf, type SleepClock } from '../../base/index.ts';
import type { RunAbout } from '../outside/exportMetrics.ts';
import type { OpenTelemetry } from './packages.ts';
import type { RolloutSpans, Span, SpanId } from './spans.ts';

export interface CollectorOptions {
  /** Without `/v1/traces`. */
  readonly url: string;
  readonly about: RunAbout;
  readonly clock: SleepClock;
  /** Tells the user. */
  readonly notice: (line: string) => void;
  readonly patienceMs: number;
}

export interface Collector {
  /** Resolves once they have arrived. */
  send(rollouts: readonly RolloutSpans[], signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

type Readable = Parameters<
  InstanceType<OpenTelemetry['exporter']['OTLPTraceExporter']>['export']
>[0];

const FIRST_WAIT_MS = 1_000;
const WAIT_MAX_MS = 60_000;
const TIMEOUT_MS = 30_000;
/** Refusals from a working server that would accept the request later. */
const LATER = [408, 425, 429];

export function collector(telemetry: OpenTelemetry, options: CollectorOptions): Collector {
  const { url, clock, notice, patienceMs } = options;
  const exporter = new telemetry.exporter.OTLPTraceExporter({
    url: `${url}/v1/traces`,
    timeoutMillis: TIMEOUT_MS,
  });
  const pen = spanPen(telemetry, options.about);
  const tried = (spans: Readable): Promise<Error | null> =>
    new Promise((resolve) => {
      exporter.export(spans, ({ code, error }) => {
        resolve(code === 0 ? null : (error ?? new Error('no reason given')));
      });
    });
  return {
    async send(rollouts, signal) {
      const spans = pen(rollouts);
      const sinceMs = clock.now();
      let reported = false;
      for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MAX_MS)) {
        signal.throwIfAborted();
        const error = await tried(spans);
        if (error === null) break;
        const why = messageOf(error);
        if (isRefusal(error)) {
          throw new MillraceError('REFUSED', `the collector at ${url} refused spans: ${why}`);
        }
        if (clock.now() + waitMs - sinceMs > patienceMs) {
          throw new MillraceError(
            'AWAY',
            `the collector at ${url} does not answer (${why}); repeat the command when it does, and it will resume`,
          );
        }
        if (!reported) notice(`the collector at ${url} does not answer (${why}); retrying`);
        reported = true;
        await clock.sleep(waitMs, signal);
      }
      if (reported) notice(`the collector at ${url} answers again`);
    },
    close: () => exporter.shutdown(),
  };
}

function isRefusal(error: Error): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'number' && code >= 400 && code < 500 && !LATER.includes(code);
}

/** Writes spans through the SDK, with given ids and times. */
function spanPen(
  { api, resources, sdk }: OpenTelemetry,
  { run, job, seed, millrace }: RunAbout,
): (rollouts: readonly RolloutSpans[]) => Readable {
  let written: Readable = [];
  let id: SpanId = { traceId: '', spanId: '' };
  const provider = new sdk.BasicTracerProvider({
    sampler: new sdk.AlwaysOnSampler(),
    resource: resources.resourceFromAttributes({
      'service.name': 'millrace',
      'service.version': millrace,
      'millrace.run': run,
      'millrace.job': job,
      'millrace.seed': seed,
    }),
    idGenerator: { generateTraceId: () => id.traceId, generateSpanId: () => id.spanId },
    spanProcessors: [
      {
        onStart: () => undefined,
        onEnd: (span) => void written.push(span),
        forceFlush: async () => undefined,
        shutdown: async () => undefined,
      },
    ],
  });
  const tracer = provider.getTracer('millrace', millrace);
  const write = (span: Span, within = api.ROOT_CONTEXT) => {
    id = span.id;
    const links = span.from === null ? [] : [{ context: { ...span.from, traceFlags: 1 } }];
    const options = { startTime: timeOf(span.startMs), attributes: span.attributes, links };
    const one = tracer.startSpan(span.name, options as never, within);
    if (span.failed) one.setStatus({ code: api.SpanStatusCode.ERROR });
    one.end(timeOf(span.endMs));
    return one;
  };
  return (rollouts) => {
    written = [];
    for (const { rollout, calls } of rollouts) {
      const within = api.trace.setSpan(api.ROOT_CONTEXT, write(rollout));
      for (const call of calls) write(call, within);
    }
    return written;
  };
}

/** Seconds and nanoseconds since 1970. */
function timeOf(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
