/** `otlp:URL`: rollouts with their tool calls as traces, to an OpenTelemetry collector. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { serverAddress } from '../../base/http/index.ts';
import { keepSecret, sleepClock } from '../../base/index.ts';
import { collector } from '../otlp/collector.ts';
import { exportTraces } from '../otlp/exportTraces.ts';
import { openTelemetry } from '../otlp/packages.ts';
import type { Exporter } from './exporter.ts';

export const otlp: Exporter = {
  form: 'otlp:URL',
  where: (given) =>
    serverAddress(given, { what: 'an OpenTelemetry collector', suffix: '/v1/traces' }),
  async open(url, { about, folder, clock, notice, patienceMs, content }) {
    keepHeaders(process.env.OTEL_EXPORTER_OTLP_HEADERS ?? '');
    const options = { url, about, clock: sleepClock(clock), notice, patienceMs };
    const to = collector(await openTelemetry(), options);
    const hash = createHash('sha256').update(`${about.startedMs} ${url}`).digest('hex');
    const kept = join(folder, 'exports', `otlp-${hash.slice(0, 12)}.json`);
    return {
      carry: (options) => exportTraces({ collector: to, kept, about, content }, options),
      of: 'rollout',
      name: `the collector at ${url}`,
      how: () => ' as traces',
      close: () => to.close(),
    };
  },
};

/** `name=value,…`, URL-encoded, as OpenTelemetry reads them. Short values are not keys: a number, a name. */
function keepHeaders(headers: string): void {
  for (const header of headers.split(',')) {
    const value = header.slice(header.indexOf('=') + 1).trim();
    const parts = value.split(/\s|%20/);
    for (const part of [value, ...parts]) if (part.length >= KEY_MIN) keepSecret(part);
  }
}

const KEY_MIN = 8;
