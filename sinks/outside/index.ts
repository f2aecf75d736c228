/** Metrics to systems outside, late and resumable. */
export { type ExportOptions, exportMetrics, type RunAbout, type RunEnd } from './exportMetrics.ts';
export { mirror } from './mirror.ts';
export { PatientClient } from './patientClient.ts';
