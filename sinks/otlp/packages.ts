/**
 * OpenTelemetry's own packages: 30 MB that few users need, so they are not installed with ours. A message
 * tells users who want traces how to add them.
 */
import { MillraceError } from '../../base/index.ts';

const NAMES = [
  '@opentelemetry/api',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-base',
  '@opentelemetry/exporter-trace-otlp-proto',
] as const;

export interface OpenTelemetry {
  readonly api: typeof import('@opentelemetry/api');
  readonly resources: typeof import('@opentelemetry/resources');
  readonly sdk: typeof import('@opentelemetry/sdk-trace-base');
  readonly exporter: typeof import('@opentelemetry/exporter-trace-otlp-proto');
}

/** Fails with code `MISSING_PACKAGE` if one is not installed. */
export async function openTelemetry(): Promise<OpenTelemetry> {
  try {
    const [api, resources, sdk, exporter] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/exporter-trace-otlp-proto'),
    ]);
    return { api, resources, sdk, exporter };
  } catch (cause) {
    throw new MillraceError(
      'MISSING_PACKAGE',
      `traces need OpenTelemetry's packages, which do not come with millrace; run: npm install ${NAMES.join(' ')}`,
      { cause },
    );
  }
}
