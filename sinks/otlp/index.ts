/** Metrics and traces by OpenTelemetry's protocol. */
export { collector } from './collector.ts';
export { exportTraces } from './exportTraces.ts';
export { openTelemetry } from './packages.ts';
